# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# git.bash - git in the commands of Gemini CLI, by BASH_ENV
#
# Gemini CLI hides git's configuration from each command that it runs, so that a
# hostile repository cannot use the user's credentials. In a sandbox that hides who
# commits and the surrogates, which are there to be used: this undoes it.
if [ -n "${GEMINI_CLI:-}" ] && [ -n "${GIT_CONFIG_COUNT:-}" ]; then
	unset GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM \
		"${!GIT_CONFIG_KEY_@}" "${!GIT_CONFIG_VALUE_@}"
	export GIT_CONFIG_SYSTEM=/run/ac-guard/gitconfig
fi
