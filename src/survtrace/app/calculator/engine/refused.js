// A question that has no answer; the message says the rule, what was seen, and the way out.

export class Refused extends Error {}
