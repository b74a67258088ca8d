"""askbook in Flask: `flask --app examples.flask_app run`, then POST {"question": ...} to /ask."""

from typing import Any

from flask import Flask, request

from askbook import Settings, open_agent_sync

app = Flask(__name__)
agent = open_agent_sync(Settings.from_env())


@app.post("/ask")
def ask() -> dict[str, Any]:
    asked = request.get_json()
    return agent.ask(asked["question"], thread_id=asked.get("thread")).model_dump(mode="json")
