// Ask one question through LangGraph's own client, as a chat page does, and print what came as one JSON object.
// Usage: node stream.mjs ADDRESS QUESTION

import { Client } from "@langchain/langgraph-sdk";
import { AIMessageChunk } from "@langchain/core/messages";

const [address, question] = process.argv.slice(2);
const client = new Client({ apiUrl: address, apiKey: null });
const thread = await client.threads.create();
const shown = {}; // by the id of a message: its chunks put together, as chat pages do
const events = [];
let values;
const run = client.runs.stream(thread.thread_id, "agent", {
  input: { messages: [{ type: "human", content: question }] },
  streamMode: ["messages-tuple", "values", "custom"],
});
for await (const { event, data } of run) {
  if (event === "messages") {
    const [message] = data;
    const chunk = new AIMessageChunk({ id: message.id, content: message.content });
    shown[message.id] = { type: message.type, whole: shown[message.id]?.whole.concat(chunk) ?? chunk };
  } else if (event === "custom") {
    events.push(data);
  } else if (event === "values") {
    values = data;
  } else if (event === "error") {
    throw new Error(JSON.stringify(data));
  }
}
const streamed = Object.entries(shown).map(([id, { type, whole }]) => ({ id, type, text: whole.content }));
process.stdout.write(JSON.stringify({ streamed, events, last: values.messages.at(-1) }));
