/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_answers.h - what the gateway's program prints, for tests of what acd
 * makes of it
 */
#ifndef TESTS_UNIT_CONTROL_ACD_API_POLICY_ANSWERS_H
#define TESTS_UNIT_CONTROL_ACD_API_POLICY_ANSWERS_H

#define ITEM(level, code, file, message)                                  \
	"{\"level\":\"" level "\",\"code\":\"" code "\",\"text\":\"" file \
	":1:2: " message "\",\"file\":\"" file                            \
	"\",\"line\":1,\"column\":2,\"message\":\"" message "\""
#define LINT(items) "{\"ok\":false,\"lint\":[" items "],\"dropped\":0}\n"
#define ODD ITEM("warning", "x", "policy/policy.yaml", "odd") "},"

#define BAD_LINT                                                            \
	LINT(ITEM("error", "multi-tenant", "policy/policy.yaml",            \
		  "x.example: anybody") "}," ITEM("warning", "unreachable", \
						  "p", "never reached") "}")

#define ITEMS_LINT                                                      \
	LINT(ODD ITEM("warning", "builtin-denied", "the policy",        \
		      "always denied") ",\"about\":\"a.example\"}"      \
				       "," ITEM("info", "deny-shadows", \
						"the policy",           \
						"rule 'allow-1' "       \
						"allows it, which "     \
						"'deny-1' denies") ","  \
								   "\"" \
								   "ab" \
								   "ou" \
								   "t"  \
								   "\"" \
								   ":"  \
								   "\"" \
								   "a." \
								   "ex" \
								   "am" \
								   "pl" \
								   "e"  \
								   "\"" \
								   ","  \
								   "\"" \
								   "by" \
								   "\"" \
								   ":"  \
								   "\"" \
								   ".e" \
								   "xa" \
								   "mp" \
								   "le" \
								   "\"" \
								   "}")
#define ERROR(text) "{\"ok\":false,\"error\":\"" text "\",\"lint\":[]}\n"

#endif
