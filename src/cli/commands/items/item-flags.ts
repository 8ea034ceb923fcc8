import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { readJsonObject } from '../../json-file.ts'

export const itemFlags = {
  file: text('-f, --file <file>', 'JSON with the members of an item; - for standard input', 'file'),
  name: text('--name <name>', 'Its name'),
  description: text('--description <text>', 'Its description'),
  imageUrl: text('--image-url <url>', 'Its image'),
  contract: text('--contract <symbol>', 'The contract whose tokens it is the template of'),
}

interface Given {
  readonly file: string | undefined
  readonly name: string | undefined
  readonly description: string | undefined
  readonly imageUrl: string | undefined
  readonly contract: string | undefined
}

/** The members of a file, with those that are given as flags in their place. The daemon checks them. */
export const readItem = async (ctx: CliContext, given: Given): Promise<Readonly<Record<string, unknown>>> => {
  const { file, name, description, imageUrl, contract } = given
  const members = file === undefined ? {} : await readJsonObject(ctx.at, file)
  const flags = Object.entries({ name, description, imageUrl, contract }).filter(
    ([, value]) => value !== undefined,
  )
  return { ...members, ...Object.fromEntries(flags) }
}
