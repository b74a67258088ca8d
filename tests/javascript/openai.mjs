// Ask through OpenAI's own client, streamed and not, and print what came as one JSON object.
// Usage: node openai.mjs ADDRESS KEY QUESTION

import OpenAI from "openai";

const [address, apiKey, question] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${address}/v1`, apiKey, maxRetries: 0 });
const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: question }];

const models = [];
for await (const model of client.models.list()) models.push(model.id);

const whole = await client.chat.completions.create({ model: "default", messages });

let streamed = "";
let usage;
let finish;
const stream = await client.chat.completions.create({
  model: "default",
  messages,
  stream: true,
  stream_options: { include_usage: true },
  stop: ["\n\nUser:"],
});
for await (const chunk of stream) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
  finish = chunk.choices[0]?.finish_reason ?? finish;
  usage = chunk.usage ?? usage;
}

let refused;
try {
  await client.chat.completions.create({ model: "no-such-model", messages });
} catch (error) {
  refused = { kind: error.constructor.name, status: error.status, code: error.code };
}
const content = whole.choices[0].message.content;
process.stdout.write(JSON.stringify({ models, content, streamed, finish, usage, refused }));
