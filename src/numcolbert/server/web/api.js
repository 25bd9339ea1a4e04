// Talks to the server. Every failure becomes {message, hint}, also where no server answers.
export async function call(route, body) {
  let response;
  try {
    response = await fetch(`v1/${route}`, body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw { message: "The server does not answer.", hint: "check that it is still running, then search again" };
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw { message: `The server answered ${response.status} without a readable body.`, hint: "see its log" };
  }
  if (!response.ok) throw answer;
  return answer;
}
