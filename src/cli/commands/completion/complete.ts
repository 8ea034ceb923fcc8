import { defineCommand, type Noun, type Verb } from '../../command/define.ts'
import type { Completion, Raw } from '../../command/options.ts'
import { readConfigFile } from '../../config-file.ts'
import { type CliContext, createContext, globalOptions } from '../../context.ts'
import { clean } from '../../io/text.ts'
import { listGroups } from '../chip-groups.ts'
import { topics } from '../help.ts'

interface Candidate {
  readonly value: string
  readonly about: string
}

interface OptionLike {
  readonly flags: string
  readonly description: string
  readonly completion?: Completion
}

export const completeAmong = (nouns: readonly Noun[]): Verb =>
  defineCommand({
    name: '__complete',
    summary: 'List completions, for completion scripts',
    examples: ['__complete -- chips li'],
    args: {
      words: {
        written: '[words...]',
        description: 'The words so far, the unfinished one last',
        read: (raw: Raw) => (Array.isArray(raw) ? raw.map(String) : []),
      },
    },
    run: async (ctx, { args }) => {
      const current = args.words.at(-1) ?? ''
      const found = await candidates(ctx, nouns, args.words.slice(0, -1), current)
      if (found === 'files') return ctx.io.raw(':files\n')
      for (const { value, about } of found) {
        if (value.startsWith(current)) await ctx.io.raw(`${clean(value)}\t${clean(about)}\n`)
      }
    },
  })

const takesValue = ({ flags }: OptionLike): boolean => /[<[]/.test(flags)
const namesOf = ({ flags }: OptionLike): string[] => flags.match(/(?<![\w-])--?[a-zA-Z-]+/g) ?? []

const candidates = async (
  ctx: CliContext,
  nouns: readonly Noun[],
  before: readonly string[],
  current: string,
): Promise<Candidate[] | 'files'> => {
  const verb = await verbOf(nouns, before)
  const options: OptionLike[] = [...Object.values(verb.options), ...globalOptions]
  const last = before.at(-1) ?? ''
  const awaiting = options.find((option) => takesValue(option) && namesOf(option).includes(last))
  if (awaiting) return valuesOf(ctx, awaiting.completion ?? (last === '--context' ? 'context' : []))
  if (current.startsWith('-')) {
    const used = new Set(before)
    return options.flatMap((option) =>
      namesOf(option)
        .filter((name) => name.startsWith('--') && !used.has(name))
        .map((value) => ({ value, about: option.description })),
    )
  }
  if (verb.next) return verb.next
  const argument = Object.values(verb.args)[verb.index]
  return argument?.completion === undefined ? [] : valuesOf(ctx, argument.completion)
}

type Position = Pick<Verb, 'args' | 'options'> & {
  readonly next: Candidate[] | undefined
  readonly index: number
}

const described = (list: readonly { name: string; summary: string }[]): Candidate[] =>
  list.map(({ name, summary }) => ({ value: name, about: summary }))

const topicNames = Object.keys(topics).map((value) => ({ value, about: 'topic' }))

const verbOf = async (nouns: readonly Noun[], before: readonly string[]): Promise<Position> => {
  const visible = nouns.filter(({ hidden }) => !hidden)
  const typedWords = operands(before, globalOptions)
  const nowhere = { args: {}, options: {}, index: 0 }
  const noun = nouns.find(({ name }) => name === typedWords[0])
  if (noun?.name === 'help' && typedWords.length > 1) return verbOf(nouns, typedWords.slice(1))
  if (!noun) return { ...nowhere, next: typedWords.length === 0 ? described(visible) : [] }
  const loaded = await noun.load()
  if (noun.name === 'help') return { ...nowhere, next: [...topicNames, ...described(visible)] }
  if ('verb' in loaded) return { ...loaded.verb, next: undefined, index: typedWords.length - 1 }
  const verb = loaded.verbs.find(({ name }) => name === typedWords[1])
  if (!verb) return { ...nowhere, next: typedWords.length === 1 ? described(loaded.verbs) : [] }
  const index = operands(before, [...globalOptions, ...Object.values(verb.options)]).length - 2
  return { ...verb, next: undefined, index }
}

const operands = (args: readonly string[], options: readonly OptionLike[]): string[] => {
  const found: string[] = []
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? ''
    if (!word.startsWith('-')) found.push(word)
    else if (options.some((option) => takesValue(option) && namesOf(option).includes(word))) i += 1
  }
  return found
}

interface Candidate {
  readonly value: string
  readonly about: string
}

/** A person is waiting at the keyboard. */
const timeoutSeconds = 0.7

/** Errors offer no values: a completion cannot show messages. */
export const valuesOf = async (ctx: CliContext, completion: Completion): Promise<Candidate[] | 'files'> => {
  if (completion === 'file') return 'files'
  if (typeof completion !== 'string') return completion.map((value) => ({ value, about: '' }))
  const impatient = createContext(ctx.system, { ...ctx.flags, timeoutSeconds })
  try {
    return await sources[completion](impatient)
  } catch {
    return []
  } finally {
    impatient.close()
  }
}

const sources = {
  'chip-group': async (ctx: CliContext) =>
    (await listGroups(ctx, undefined)).map(({ id, name }) => ({ value: name, about: `chip group ${id}` })),
  team: async (ctx: CliContext) =>
    (await ctx.call('GET /admin/teams')).map(({ id, name }) => ({ value: name, about: `team ${id}` })),
  'key-set': async (ctx: CliContext) =>
    (await ctx.call('GET /admin/key-sets')).map(({ id, diversification }) => ({
      value: String(id),
      about: diversification,
    })),
  context: async (ctx: CliContext) =>
    Object.entries(readConfigFile(ctx.system).contexts).map(([name, { url }]) => ({
      value: name,
      about: url,
    })),
  batch: async (ctx: CliContext) => {
    const key = ctx.config().adminToken() === undefined ? 'GET /batches' : 'GET /admin/batches'
    const batches = await ctx.call(key, { query: { limit: 20 } })
    return batches.map(({ id, name, kind, state }) => ({ value: name ?? id, about: `${kind}, ${state}` }))
  },
}
