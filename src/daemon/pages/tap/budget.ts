import { type Html, html } from './html.ts'
import { brief } from './wording.ts'

/** However much else there is. */
const minBytes = 2000

/** Bytes for the texts of a piece: a page has to stay small for a phone, whatever its metadata has. */
export class Budget {
  #left: number
  /** Something was left out. */
  isSpent = false

  constructor(bytes: number) {
    this.#left = Math.max(bytes, minBytes)
  }

  /** @param share of what is left @returns the first ones, as many as fit */
  rows<T>(all: readonly T[], share: number, render: (one: T, index: number) => Html): Html[] {
    const reserved = this.#left * (1 - share)
    const shown: Html[] = []
    for (const [index, one] of all.entries()) {
      const row = render(one, index)
      const left = this.#left - Buffer.byteLength(row.text)
      if (left < reserved) {
        this.isSpent = true
        break
      }
      this.#left = left
      shown.push(row)
    }
    return shown
  }

  /** @returns the beginning of the text, as much as fits; empty: next to nothing would */
  text(text: string, share: number): string {
    const bytes = bytesOf(text)
    const most = this.#left * share
    if (bytes <= most) {
      this.#left -= bytes
      return text
    }
    this.isSpent = true
    if (most < 100) return ''
    this.#left -= most
    return cutTo(text, most)
  }
}

/** Of an action that is alone on its page. */
const maxDescriptionBytes = 2000

/** @param count how many actions are on the page @returns the beginning of the description, as much as fits */
export const descriptionOf = ({ description }: { description: string }, count: number): string =>
  // Each further action brings texts of its own, too.
  cutTo(description, Math.max(maxDescriptionBytes / count ** 2, 160))

const bytesOf = (shown: string): number => Buffer.byteLength(html`${shown}`.text)

function cutTo(text: string, most: number): string {
  // Characters differ in length, but hardly from one part of a text to another.
  let shown = text
  for (let now = bytesOf(text); now > most; now = bytesOf(shown))
    shown = brief(text, Math.floor(Math.min(0.95, most / now) * (shown.length - 1)))
  return shown
}
