// Runs behind the bundled engine in node: questions come on standard input, answers go out as JSON.

async function answer({ question, body, table }) {
  try {
    if (table === undefined) return question === "schema" ? await (await ask("schema")).json() : await post(question, body);
    const scored = await ask(question, { body: new Blob([table]) });
    return { csv: await (await scored.blob()).text(), warnings: JSON.parse(scored.headers.get("")) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: error.message };
  }
}

(async () => {
  const answers = [];
  for (const question of JSON.parse(fs.readFileSync(0, "utf8"))) answers.push(await answer(question));
  console.log(JSON.stringify(answers));
})();
