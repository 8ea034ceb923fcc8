/** Text that is HTML already. Only `html` and `raw` make it. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | string | number | false | undefined | null | readonly Value[]

/**
 * A template that escapes each value, for elements and quoted attributes. undefined, null, and false render as
 * nothing.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = parts[0] ?? ''
  for (let index = 0; index < values.length; index++) text += written(values[index]) + parts[index + 1]
  return new Html(text)
}

/** Only for our own text. */
export const raw = (text: string): Html => new Html(text)

function written(value: Value): string {
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.reduce((text, one) => text + written(one), '')
  return value === undefined || value === null || value === false ? '' : escaped(String(value))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Replaces control characters, and those that reverse the direction of text, with spaces. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
const special = /[&<>"'\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/
const allSpecial = new RegExp(special, 'g')

// Most texts have none, which is sooner known than replaced.
const escaped = (text: string): string =>
  special.test(text) ? text.replace(allSpecial, (character) => entities[character] ?? ' ') : text
