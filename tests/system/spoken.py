"""An agent whose words the test says: a script that writes lines of an agent's format when it is told to.

The test tells it one thing at a time over a pair of fifos and hears when it was done, so nothing is
paced by time. What the daemon made of the words is asked for after it has read them.
"""

import json
import os
import time

from harness import PATIENCE

# Told "say FILE", "err FILE", "hook FILE", "run FILE", "end STATUS"; each is answered when it is done.
SCRIPT = r"""
exec 3< "$HOME/agent.go" 4> "$HOME/agent.here"
printf '%s\n' "$*" >> "$HOME/started"
cat > "$HOME/prompt.$OVERSEER_ATTEMPT"
echo "up $OVERSEER_RUN" >&4
while read -r what arg <&3; do
	case "$what" in
	say) cat "$HOME/$arg" ;;
	err) cat "$HOME/$arg" >&2 ;;
	hook) cat "$HOME/$arg" >> "$OVERSEER_RUN_DIR/hooks/events" ;;
	run) sh "$HOME/$arg" ;;
	end) echo ended >&4; exit "$arg" ;;
	esac
	echo "done" >&4
done
"""

SESSION = "bcac89b7-f0ce-4aad-8947-bb6c67a83286"


def config(site_root, kind="claude", more=""):
    return f'[defaults]\nagent = "spoken"\n[agents.spoken]\nformat = "{kind}"\ncommand = ["{site_root}/agent.sh"]\n{more}'


class Spoken:
    """The agents of a site, one run at a time."""

    def __init__(self, site):
        self.site = site
        self.gate = site.gate("agent")
        self.files = 0
        self.run = ""

    def up(self):
        """Waits for the next run; returns its id."""
        word, *run = self.gate.wait().split()
        if word == "done":  # of the one before, which was ended for what it had said last
            word, *run = self.gate.wait().split()
        assert word == "up", word
        self.run, = run
        return self.run

    def tell(self, what, text):
        self.order(what, text)
        assert self.gate.wait() == "done"

    def order(self, what, text):
        self.files += 1
        name = f"word.{self.files}"
        with open(os.path.join(self.site.root, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.write(self.gate.fds[1], f"{what} {name}\n".encode())

    def say(self, *lines):
        self.tell("say", "".join(json.dumps(line) + "\n" if isinstance(line, dict) else line for line in lines))

    def say_last(self, *lines):
        """What its run is ended for, maybe before it is done with it."""
        self.order("say", "".join(json.dumps(line) + "\n" for line in lines))

    def err(self, text):
        self.tell("err", text)

    def hook(self, *lines):
        self.tell("hook", "".join(json.dumps(line) + "\n" for line in lines))

    def sh(self, text):
        self.tell("run", text)

    def end(self, status=0):
        os.write(self.gate.fds[1], f"end {status}\n".encode())
        assert self.gate.wait() == "ended"

    def now(self, wanted=lambda now: True):
        """What the daemon says that the agent does, once it has heard enough for `wanted`."""
        connection = self.site.connect()
        end = time.monotonic() + PATIENCE
        try:
            while True:
                now = connection.call("run.show", run=self.run).get("now", {})
                if now and wanted(now):
                    return now
                if time.monotonic() > end:
                    raise AssertionError(f"waited in vain, it says: {now}")
        finally:
            connection.close()

    def argv(self):
        """The arguments of each run so far."""
        return self.site.home("started").splitlines()


def claude_init(session=SESSION, model="claude-opus-5-5"):
    return {"type": "system", "subtype": "init", "cwd": "/w", "session_id": session, "tools": ["Bash"],
            "mcp_servers": [], "model": model, "permissionMode": "default", "claude_code_version": "2.1.325"}


def claude_says(text, session=SESSION, number=1):
    return {"type": "assistant", "message": {
        "id": f"msg_{number}", "model": "claude-opus-5-5", "role": "assistant", "type": "message",
        "content": [{"type": "text", "text": text}], "stop_reason": None,
        "usage": {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                  "output_tokens": 20}},
        "parent_tool_use_id": None, "session_id": session, "uuid": f"00000000-0000-4000-8000-{number:012d}"}


def claude_tool(name="Bash", tool_id="toolu_1", number=2, **given):
    line = claude_says("", number=number)
    line["message"]["content"] = [{"type": "tool_use", "id": tool_id, "name": name, "input": given}]
    return line


def claude_tool_result(tool_id="toolu_1", text="ok"):
    return {"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": tool_id, "content": text, "is_error": False}]},
        "parent_tool_use_id": None, "session_id": SESSION}


def claude_retry(attempt, status=401, error="authentication_failed"):
    return {"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10,
            "retry_delay_ms": 588, "error_status": status, "error": error, "session_id": SESSION}


def claude_result(text="All done.", is_error=False, subtype="success", cost=0.0024, session_cost=None, **more):
    """cost: of this run; session_cost: of the session so far, which is what it calls the total."""
    used = {"inputTokens": 300, "outputTokens": 60, "cacheReadInputTokens": 7, "cacheCreationInputTokens": 5,
            "costUSD": cost, "contextWindow": 200000, "canonicalModel": "claude-opus-5-5"}
    return {"result": text, "session_id": SESSION, "num_turns": 3, "duration_ms": 10,
            "total_cost_usd": session_cost or cost,
            "usage": {"input_tokens": 300, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7,
                      "output_tokens": 60},
            "modelUsage": {"claude-opus-5-5": {**used, "costUSD": session_cost or cost}},
            "model_usage_since_last_result": {"claude-opus-5-5": used},
            "permission_denials": [], "terminal_reason": "api_error" if is_error else "completed",
            "type": "result", "subtype": subtype, "is_error": is_error, "result_index": 0, **more}


def update(status="in_progress", summary="Half of it"):
    block = json.dumps({"overseerUpdate": {"status": status, "summary": summary, "next": "The rest"}})
    return f"I got on.\n\n```json\n{block}\n```\nGoing on.\n"


def codex(*, thread="01a1dc89-0000-7000-8000-000000000001", message="done", total=200, extra=()):
    return [{"type": "thread.started", "thread_id": thread}, {"type": "turn.started"}, *extra,
            {"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": message}},
            {"type": "turn.completed", "usage": {
                "input_tokens": total, "cached_input_tokens": 0, "cache_write_input_tokens": 0,
                "output_tokens": 40, "reasoning_output_tokens": 0}}]
