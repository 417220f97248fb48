# SPDX-License-Identifier: Apache-2.0
"""Transports, errors and streams of events, against a server of our own."""

from __future__ import annotations

import asyncio
import traceback
import unittest
from typing import Any

from ac_sandbox import (
    ApiError,
    AsyncClient,
    AsyncSandbox,
    Client,
    CommandFailed,
    Ended,
    Lost,
    Output,
    Sandbox,
    Started,
    errors,
)
from ac_sandbox._where import where_from

from .fake import ENDED, Answer, Fake, Request, event, events, failure

TOKEN = "ac_0123_topsecret"


def attach(fake: Fake) -> Sandbox:
    return Sandbox(name="box", client=fake.client())


class Places(unittest.TestCase):
    def test_the_environment_says_where_acd_is(self) -> None:
        where = where_from(env={"AC_HOME": "/x"})
        self.assertEqual((where.socket, where.local), ("/x/run/acd.sock", True))
        where = where_from(env={"XDG_DATA_HOME": "/d"})
        self.assertEqual(where.socket, "/d/ac/run/acd.sock")
        env = {"AC_API_URL": "http://127.0.0.1:7722/v1", "AC_API_TOKEN": TOKEN}
        where = where_from(env=env)
        self.assertEqual(
            (where.url, where.token), ("http://127.0.0.1:7722", TOKEN)
        )
        # What is given wins.
        self.assertTrue(where_from(home="/y", env=env).local)

    def test_a_place_that_cannot_be_is_refused(self) -> None:
        for url in (
            "ftp://localhost",
            "http://",
            "http://u:pw@localhost",
            "http://localhost/v2",
            "http://localhost:x",
            "http://192.0.2.1",
        ):
            with self.subTest(url), self.assertRaises(errors.ConfigError) as e:
                where_from(url, TOKEN, env={})
            self.assertNotIn("pw", str(e.exception))
        for env in ({"AC_HOME": "x"}, {"AC_API_URL": "http://localhost"}):
            with self.subTest(env), self.assertRaises(errors.ConfigError):
                where_from(env=env)
        with self.assertRaises(errors.ConfigError):
            where_from("http://localhost", "a\nb", env={})
        self.assertFalse(
            where_from("http://192.0.2.1", TOKEN, insecure=True).local
        )

    def test_the_token_is_sent_and_never_shown(self) -> None:
        with Fake(lambda _: failure(401, "unauthorized"), tcp=True) as fake:
            client = Client(fake.url, TOKEN)
            with self.assertRaises(errors.UnauthorizedError) as told:
                client.version()
            self.assertEqual(
                fake.seen[0].headers["authorization"], f"Bearer {TOKEN}"
            )
            client.close()
            shown = [repr(client), repr(client.http), repr(client.where)]
            shown += traceback.format_exception(told.exception)
        client = Client(fake.url, TOKEN)
        with self.assertRaises(errors.TransportError) as broken, client:
            client.version()
        shown += traceback.format_exception(broken.exception)
        context = broken.exception.__context__
        self.assertIsNone(getattr(context, "_request", None))
        self.assertNotIn("topsecret", "".join(shown))


class Errors(unittest.TestCase):
    def test_each_code_has_its_class(self) -> None:
        for status, code, cls in (
            (404, "not_found", errors.NotFoundError),
            (404, "unknown_blueprint", errors.UnknownBlueprintError),
            (409, "not_running", errors.NotRunningError),
            (409, "a_new_word", errors.ConflictError),
            (403, "denied", errors.DeniedError),
            (403, "forbidden", errors.ForbiddenError),
            (503, "starting", errors.StartingError),
            (418, "teapot", ApiError),
        ):
            with (
                self.subTest(code),
                Fake(lambda _: failure(status, code)) as fake,
            ):
                with self.assertRaises(cls) as told:
                    fake.client().version()
                self.assertIs(type(told.exception), cls)
                self.assertEqual(told.exception.code, code)

    def test_a_failure_has_its_members(self) -> None:
        answer = failure(409, "credential_missing", credential="anthropic")
        with Fake(lambda _: answer) as fake:
            with self.assertRaises(errors.CredentialMissingError) as told:
                fake.client().call("run", body={})
            self.assertEqual(told.exception.credential, "anthropic")

    def test_what_is_no_answer_of_the_api_is_told(self) -> None:
        html = {"Content-Type": "text/html"}
        for answer in (
            Answer(200, b"<html>", headers=html),
            Answer(502, b"<html>", headers=html),
            Answer(500, {"error": "x"}),
            Answer(500, {"error": {"code": 1, "message": []}}),
        ):
            with (
                Fake(lambda _: answer) as fake,
                self.assertRaises(errors.ProtocolError),
            ):
                fake.client().version()

    def test_no_daemon_and_one_that_hangs(self) -> None:
        with self.assertRaises(errors.TransportError):
            with Client(home="/nowhere") as client:
                client.version()
        with Fake(lambda _: Answer(hang=5.0)) as fake:
            with self.assertRaises(errors.TransportTimeout):
                fake.client(timeout=0.2).version()

    def test_a_name_cannot_lead_to_another_call(self) -> None:
        with Fake(lambda _: failure(404, "not_found")) as fake:
            client = fake.client()
            with self.assertRaises(errors.NotFoundError):
                client.instance("a/../b?c")
            self.assertEqual(fake.paths(), ["GET /v1/instances/a%2F..%2Fb%3Fc"])
            for name in ("", ".", ".."):
                with self.assertRaises(ValueError):
                    client.instance(name)


class Commands(unittest.TestCase):
    def test_run_gives_output_and_end(self) -> None:
        answer = events(
            'id: 1\nevent: start\ndata: {"id": "c1"}\n\n',
            ": alive\n\n",
            event("stdout", "2", offset=0, data="ab", encoding="utf-8"),
            event("stderr", "3", offset=0, data="/w==", encoding="base64"),
            event("of_later", "4"),
            event("stdout", "5", offset=2, data="c", encoding="utf-8"),
            event("exit", "6", **{**ENDED, "exit_code": 3}),
        )
        with Fake(lambda _: answer) as fake:
            box = attach(fake)
            result = box.run("x", env={"A": "b=c"}, timeout=1.5, stdin=b"\xff")
            self.assertEqual(
                fake.seen[0].json(),
                {
                    "cmd": ["/bin/sh", "-c", "x"],
                    "timeout_ms": 1500,
                    "env": ["A=b=c"],
                    "stdin_base64": "/w==",
                },
            )
            self.assertEqual(
                (result.stdout, result.stderr_bytes), ("abc", b"\xff")
            )
            self.assertEqual((result.exit_code, result.truncated), (3, False))
            with self.assertRaises(CommandFailed) as told:
                box.run("x", check=True)
            self.assertEqual(told.exception.result.stdout, "abc")
            result = box.run(["x", "y"], max_output=2)
            self.assertEqual((result.stdout, result.truncated), ("ab", True))

    def test_a_stream_that_ends_early_is_an_error_and_kills(self) -> None:
        start = 'event: start\ndata: {"id": "00000000000c"}\n\n'

        def script(request: Request) -> Answer:
            if request.method == "DELETE":
                return Answer(204)
            return events(start, cut=True)

        with Fake(script) as fake:
            with self.assertRaises(errors.TransportError):
                attach(fake).run("x")
            end = "DELETE /v1/instances/box/commands/00000000000c"
            self.assertEqual(fake.paths()[-1], end)

    def test_a_removed_command_is_an_error(self) -> None:
        with Fake(
            lambda _: events(event("error", code="removed", message="x"))
        ) as fake:
            with self.assertRaises(errors.CanceledError):
                attach(fake).run("x")

    def test_data_that_is_none_is_refused(self) -> None:
        for part in (
            event("stdout", offset=0, data="a", encoding="base64"),
            event("stdout", offset=0),
            "event: start\ndata: [1]\n\n",
            "event: start\ndata: {\n\n",
        ):
            with Fake(lambda _: events(part)) as fake:
                with (
                    self.subTest(part),
                    self.assertRaises(errors.ProtocolError),
                ):
                    attach(fake).run("x")
        with Fake(lambda _: Answer(200, {})) as fake:
            with self.assertRaises(errors.ProtocolError):
                attach(fake).run("x")

    def test_a_detached_command_is_taken_up_where_it_was(self) -> None:
        start = 'id: 0\nevent: start\ndata: {"id": "c"}\n\n'
        answers = [
            events(
                start,
                event("stdout", "5", offset=0, data="a", encoding="utf-8"),
                cut=True,
            ),
            failure(503, "starting"),
            events(
                start,
                event("lost", "6", bytes=4),
                event("stdout", "7", offset=5, data="b", encoding="utf-8"),
                event("exit", "8", **ENDED),
            ),
        ]
        # Only a broken connection is taken up: a failure is the daemon's word.
        with Fake(lambda _: answers.pop(0)) as fake:
            command = attach(fake).command("c")
            with self.assertRaises(errors.StartingError):
                list(command.events())
            self.assertEqual(fake.seen[1].headers.get("last-event-id"), "5")
            got = list(command.events(after="5"))
        self.assertEqual(got[:2], [Lost(4), Output("stdout", b"b", 5)])
        self.assertIsInstance(got[2], Ended)
        with Fake(lambda _: Answer(204)) as fake:
            self.assertEqual(
                list(attach(fake).command("c").events(after="8")), []
            )

    def test_input_waits_for_room(self) -> None:
        answers = [failure(503, "stdin_full"), Answer(204), Answer(204)]
        with Fake(lambda _: answers.pop(0)) as fake:
            attach(fake).command("c").input(b"x" * (600 << 10), close=True)
            sent = [request.json() for request in fake.seen]
        self.assertEqual([part["close"] for part in sent], [False, False, True])
        self.assertEqual(sent[0], sent[1])


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_a_run_that_is_left_ends_its_command(self) -> None:
        start = 'event: start\ndata: {"id": "00000000000c"}\n\n'
        comment = ": alive\n\n"

        def script(request: Request) -> Answer:
            if request.method == "DELETE":
                return Answer(204)
            return events(start, comment)

        with Fake(script) as fake:
            async with AsyncClient(home=fake.home) as client:
                box = AsyncSandbox(name="box", client=client)
                async with box.stream("x") as stream:
                    async for got in stream:
                        self.assertEqual(got, Started("00000000000c"))
                        break
                self.assertEqual(fake.seen[-1].method, "DELETE")

    async def test_calls_are_made_at_once(self) -> None:
        with Fake(lambda _: Answer(200, {"instances": []})) as fake:
            async with AsyncClient(home=fake.home) as client:
                got: Any = await asyncio.gather(
                    *(client.instances() for _ in range(8))
                )
            self.assertEqual(got, [[]] * 8)


if __name__ == "__main__":
    unittest.main()
