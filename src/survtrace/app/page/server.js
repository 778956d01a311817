// The server: what is asked of it, and what it refuses.

export const access = { token: null };

export class Refused extends Error {}

export async function ask(address, options = {}) {
  const headers = { ...options.headers };
  if (access.token) headers.Authorization = `Bearer ${access.token}`;
  let response;
  try {
    response = await fetch(address, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const refused = new Refused(body.detail ?? `The server answered with code ${response.status}.`);
  refused.status = response.status;
  throw refused;
}

export const post = async (address, question, signal) => (await ask(address, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal,
})).json();
