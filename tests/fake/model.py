# SPDX-License-Identifier: Apache-2.0
"""model.py - of forge.py: the APIs of models

Anthropic's messages, OpenAI's responses and chat completions, and Gemini's
generateContent, streamed and whole. A function gets the request (forge.Handler)
and answers it; forge.py has logged it, with its headers, before.

A request that offers a tool for shell commands is of an agent: the answer is a
call of that tool, with TASK, which writes a program and runs its test. Once the
tool's result is the last thing said, the answer is a text with the line of it
that begins with MARK. If the request has lines "brick N", the answer is how many;
if it has WAIT, the call is of a command that does not end by itself.
Any other request is answered by "splash". Nothing is by chance, and the same
request has the same answer.
"""
import json
import re

from forge_apis import events

# The program, its test, which says a word of the workspace's that only a run can
# tell, and in a clone both as a commit of the branch that is checked out.
TASK = """cat >dam.py <<'END'
def holds(rain):
    return rain < 42
END
cat >dam_test.py <<'END'
import dam
assert dam.holds(41) and not dam.holds(42)
print("dam: 2 checks passed, " + open("word").read().strip())
END
python3 dam_test.py
[ ! -e .git ] || { git add dam.py dam_test.py &&
git commit -qm "Hold the rain" && git push -q origin HEAD; }"""
MARK = "dam: "
WAIT = "Wait for the rain"
ENDLESS = "tail -f /dev/null"  # agents refuse to sleep

# The same for an agent whose tool runs JavaScript, in which its others are.
CODE = "text(await tools.exec_command({cmd: %s}))" % json.dumps(TASK)

SHELLS = ("Bash", "bash", "shell_command", "exec_command", "run_shell_command",
          "shell", "terminal")
COMMANDS = ("command", "cmd")


def shell(tools, task=TASK):
    """(name, arguments) of a call of the shell among @tools, which are pairs of
    a name and a schema, with @task; or None."""
    for wanted in SHELLS:
        for name, schema in tools:
            fields = (schema or {}).get("properties", {})
            known = [x for x in COMMANDS if x in fields]
            if name != wanted or not known:
                continue
            array = fields[known[0]].get("type") == "array"
            said = {known[0]: ["bash", "-c", task] if array else task}
            if "description" in schema.get("required", ()):
                said["description"] = "Write the dam and test it"
            return name, said
    return None


def decide(asked, tools, result, plain="splash"):
    """What a model says to the request @asked: a text, or (name, arguments) of a
    call, which are an object or, for a tool that takes one, a text. @result is
    the text of the tool's result if that is the last thing said, else None."""
    bricks = set(re.findall(r"brick \d+", json.dumps(asked)))
    if bricks:
        return "There are %d bricks." % len(bricks)
    if WAIT in json.dumps(asked):
        return shell(tools, ENDLESS) or plain
    if result is not None:
        found = re.search(re.escape(MARK) + r"[^\n\"\\]*", result)
        return "The dam holds. " + (found.group(0) if found else "No result.")
    return shell(tools) or plain


def pieces(text):
    """A text in some pieces, as a stream has it."""
    size = max(3, len(text) // 4)
    return [text[x:x + size] for x in range(0, len(text), size)]


# --- Anthropic --------------------------------------------------------------

def anthropic_result(messages):
    last = messages[-1]["content"] if messages else ""
    found = [x for x in last if isinstance(x, dict) and
             x.get("type") == "tool_result"] if isinstance(last, list) else []
    return json.dumps(found[-1].get("content")) if found else None


def anthropic_block(answer, nth):
    """(the whole block, the block it begins as, its deltas). A call has a name of
    its own in its conversation, by the number @nth of messages before."""
    if isinstance(answer, str):
        return ({"type": "text", "text": answer}, {"type": "text", "text": ""},
                [{"type": "text_delta", "text": x} for x in pieces(answer)])
    name, said = answer
    block = {"type": "tool_use", "id": "toolu_%d" % nth, "name": name, "input": said}
    return (block, dict(block, input={}), [
        {"type": "input_json_delta", "partial_json": x}
        for x in pieces(json.dumps(said))])


def anthropic(h):
    if not (h.has("anthropic") or h.has("anthropic-login")):
        return h.refuse()
    if h.route == "/v1/messages/count_tokens":
        return h.say(200, {"input_tokens": 11})
    if h.route == "/api/hello":
        return h.say(200, {"message": "hello"})
    if h.route.startswith("/api/"):
        return h.say(404, {"type": "error", "error": {
            "type": "not_found_error", "message": "Not found"}})
    if h.route != "/v1/messages":
        return h.say(200, {"data": [], "has_more": False})
    asked = h.json()
    answer = decide(asked, [(x.get("name"), x.get("input_schema"))
                            for x in asked.get("tools", [])],
                    anthropic_result(asked.get("messages")), "splash!")
    stop = "end_turn" if isinstance(answer, str) else "tool_use"
    block, begun, deltas = anthropic_block(
        answer, len(asked.get("messages", [])))
    usage = {"input_tokens": 11, "output_tokens": 23,
             "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0}
    message = {"id": "msg_1", "type": "message", "role": "assistant",
               "model": asked["model"], "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": dict(usage, output_tokens=1)}
    if not asked.get("stream"):
        return h.say(200, dict(message, stop_reason=stop, content=[block],
                               usage=usage))
    parts = [{"type": "message_start", "message": message},
             {"type": "content_block_start", "index": 0,
              "content_block": begun}]
    parts += [{"type": "content_block_delta", "index": 0, "delta": x}
              for x in deltas]
    parts += [{"type": "content_block_stop", "index": 0},
              {"type": "message_delta",
               "delta": {"stop_reason": stop, "stop_sequence": None},
               "usage": {"output_tokens": 23}},
              {"type": "message_stop"}]
    return events(h, [(x["type"], x) for x in parts])


# --- OpenAI -----------------------------------------------------------------

def responses_result(items):
    """An agent may add items of its own behind the result, but no question."""
    result = None
    for item in items:
        if str(item.get("type")).endswith("_call_output"):
            result = json.dumps(item.get("output"))
        elif item.get("role") == "user":
            result = None
    return result


def responses_tools(asked, items):
    """The tools of a request, as it has them or among its @items, in namespaces
    or not; each is told of which it is."""
    tools = list(asked.get("tools", []))
    for item in items:
        if item.get("type") == "additional_tools":
            tools += item.get("tools", [])
    for space in [x for x in tools if x.get("type") == "namespace"]:
        tools += [dict(x, namespace=space["name"])
                  for x in space.get("tools", [])]
    return tools


def responses_item(answer):
    """(the whole item, the events between its beginning and its end)"""
    if isinstance(answer, str):
        part = {"type": "output_text", "text": answer, "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant",
                "status": "completed", "content": [part]}
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        return item, [
            dict(at, type="response.content_part.added",
                 part=dict(part, text="")),
            *[dict(at, type="response.output_text.delta", delta=x)
              for x in pieces(answer)],
            dict(at, type="response.output_text.done", text=answer),
            dict(at, type="response.content_part.done", part=part)]
    name, said = answer
    kind, field, text = ("custom_tool_call", "input", said) if isinstance(
        said, str) else ("function_call", "arguments", json.dumps(said))
    item = {"id": "call_item_1", "type": kind, "call_id": "call_1",
            "name": name, field: text, "status": "completed"}
    at = {"item_id": item["id"], "output_index": 0}
    return item, [
        *[dict(at, type="response.%s_%s.delta" % (kind, field), delta=x)
          for x in pieces(text)],
        dict(at, **{"type": "response.%s_%s.done" % (kind, field),
                    field: text})]


def responses(h, asked):
    items = asked.get("input")
    items = items if isinstance(items, list) else []
    tools = responses_tools(asked, items)
    answer = decide(asked, [(x.get("name"), x.get("parameters"))
                            for x in tools], responses_result(items))
    kinds = {x.get("name"): x for x in tools}
    if answer == "splash" and kinds.get("exec", {}).get("type") == "custom":
        answer = "exec", CODE
    item, between = responses_item(answer)
    space = kinds.get(item.get("name"), {}).get("namespace")
    if space:
        item["namespace"] = space
    done = {"id": "resp_1", "object": "response", "created_at": 1,
            "status": "completed", "model": asked["model"], "output": [item],
            "usage": {"input_tokens": 13, "output_tokens": 29,
                      "total_tokens": 42,
                      "input_tokens_details": {"cached_tokens": 3},
                      "output_tokens_details": {"reasoning_tokens": 0}}}
    if not asked.get("stream"):
        return h.say(200, done)
    begun = dict(item, status="in_progress", **{
        x: type(item[x])() for x in ("content", "arguments", "input")
        if x in item})
    parts = [{"type": "response.created",
              "response": dict(done, status="in_progress", output=[],
                               usage=None)},
             {"type": "response.output_item.added", "output_index": 0,
              "item": begun}, *between,
             {"type": "response.output_item.done", "output_index": 0,
              "item": item},
             {"type": "response.completed", "response": done}]
    return events(h, [(x["type"], dict(x, sequence_number=n))
                      for n, x in enumerate(parts)])


def chat_calls(answer):
    name, said = answer
    return [{"index": 0, "id": "call_1", "type": "function",
             "function": {"name": name, "arguments": json.dumps(said)}}]


def chat(h, asked):
    messages = asked.get("messages") or [{}]
    answer = decide(asked, [(x.get("function", {}).get("name"),
                             x.get("function", {}).get("parameters"))
                            for x in asked.get("tools", [])],
                    json.dumps(messages[-1].get("content"))
                    if messages[-1].get("role") == "tool" else None)
    stop = "stop" if isinstance(answer, str) else "tool_calls"
    usage = {"prompt_tokens": 17, "completion_tokens": 31, "total_tokens": 48}
    base = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1,
            "model": asked["model"]}
    if not asked.get("stream"):
        said = {"content": answer} if isinstance(answer, str) else {
            "content": None, "tool_calls": chat_calls(answer)}
        return h.say(200, dict(
            base, object="chat.completion", usage=usage, choices=[{
                "index": 0, "finish_reason": stop,
                "message": dict(said, role="assistant")}]))
    deltas = [{"content": x} for x in pieces(answer)] if isinstance(
        answer, str) else [{"role": "assistant", "content": None,
                            "tool_calls": chat_calls(answer)}]
    parts = [dict(base, choices=[{"index": 0, "delta": x,
                                  "finish_reason": None}]) for x in deltas]
    parts += [dict(base, choices=[{"index": 0, "delta": {},
                                   "finish_reason": stop}]),
              dict(base, choices=[], usage=usage), "[DONE]"]
    return events(h, [("", x) for x in parts])


def openai(h):
    if not h.has("openai"):
        return h.refuse()
    if h.command == "GET":
        return h.say(200, {"object": "list", "data": []})
    return (responses if h.route == "/v1/responses" else chat)(h, h.json())


# --- Gemini -----------------------------------------------------------------

def gemini_result(contents):
    parts = contents[-1].get("parts", []) if contents else []
    found = [x["functionResponse"] for x in parts if "functionResponse" in x]
    return json.dumps(found[-1].get("response")) if found else None


def gemini_part(answer):
    if isinstance(answer, str):
        return [{"text": x} for x in pieces(answer)]
    return [{"functionCall": {"name": answer[0], "args": answer[1]}}]


def filled(schema):
    """The smallest thing that a JSON Schema asks for."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "string")).lower()
    if kind == "object":
        return {k: filled(v) for k, v in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "string": "splash"}.get(
        kind, schema.get("minimum", 1))


def gemini_answer(asked):
    """The parts of an answer, as a stream has them."""
    tools = [(x.get("name"), x.get("parametersJsonSchema") or
              x.get("parameters")) for tool in asked.get("tools", [])
             for x in tool.get("functionDeclarations", [])]
    answer = decide(asked, tools, gemini_result(asked.get("contents")))
    wanted = asked.get("generationConfig", {})
    if wanted.get("responseMimeType") == "application/json":
        answer = json.dumps(filled(wanted.get("responseJsonSchema") or
                                   wanted.get("responseSchema") or
                                   {"type": "object"}))
    whole = [{"candidates": [{"index": 0, "content": {
        "role": "model", "parts": [x]}}],
        "usageMetadata": {"promptTokenCount": 19, "candidatesTokenCount": 2,
                          "totalTokenCount": 21}} for x in gemini_part(answer)]
    whole[-1]["candidates"][0]["finishReason"] = "STOP"
    whole[-1]["usageMetadata"].update(candidatesTokenCount=37,
                                      totalTokenCount=56)
    return whole


def gemini_joined(whole):
    """The same at once: the last part with all that the others have."""
    whole[-1]["candidates"][0]["content"]["parts"] = [
        x for y in whole for x in y["candidates"][0]["content"]["parts"]]
    return whole[-1]


def gemini(h):
    if not h.has("gemini"):
        return h.refuse()
    if h.route.endswith(":countTokens"):
        return h.say(200, {"totalTokens": 19})
    if "enerateContent" not in h.route:
        return h.say(200, {"models": []})
    whole = gemini_answer(h.json())
    if ":streamGenerateContent" in h.route:
        return events(h, [("", x) for x in whole])
    return h.say(200, gemini_joined(whole))
