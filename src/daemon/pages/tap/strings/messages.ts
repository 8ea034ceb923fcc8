import type { en } from './en.ts'
import type { Format, Placeholders } from './message.ts'

type SameKeys<Texts> = {
  readonly [Key in keyof Texts]: Texts[Key] extends string ? string : SameKeys<Texts[Key]>
}

/** The texts of one language, with the keys of the English ones. */
export type Messages = SameKeys<typeof en>

type Compiled<Texts> = {
  readonly [Key in keyof Texts]: Texts[Key] extends string
    ? [Placeholders<Texts[Key]>] extends [never]
      ? string
      : Format<Placeholders<Texts[Key]>>
    : Compiled<Texts[Key]>
}

/** Texts without placeholders as they are, others as functions of their values. */
export type Strings = Compiled<Omit<typeof en, 'script'>> & Pick<Messages, 'script'>
