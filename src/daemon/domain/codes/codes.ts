import { nanoid } from 'nanoid'

export { hashCode } from '../../store/code-hash.ts'

/** Where refs, codes and cookies come from. Tests give their own. */
export interface CodeSource {
  /** 21 characters of the nanoid alphabet, from the system's random generator. */
  code(): string
}

export const randomCodes: CodeSource = { code: () => nanoid(21) }

/** Whether a text could be a ref or a code at all. */
export const isCode = (text: string): boolean => /^[A-Za-z0-9_-]{21}$/.test(text)
