import { diversifications } from '../../values/diversifications.ts'
import { readJsonObject } from '../batch/input/source.ts'
import { defineCommand } from '../command/define.ts'
import { argument, choice, integer, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { learnKeySet } from './learn-key-set.ts'
import { readId } from './named.ts'

export const chooseKeySet = async (
  ctx: CliContext,
  keySet: number | undefined,
  isOffered: (set: { readonly canProvision: boolean }) => boolean = () => true,
): Promise<number> =>
  Number(
    await ctx.prompts.choice(keySet?.toString(), {
      flag: '--key-set',
      message: 'Which key set?',
      choices: async () =>
        (await ctx.call('GET /admin/key-sets'))
          .filter(isOffered)
          .map(({ id, diversification }) => ({ name: `${id} (${diversification})`, value: String(id) })),
    }),
  )

const list = defineCommand({
  name: 'list',
  summary: 'List the key sets without their keys',
  examples: ['key-sets list', 'key-sets list --json'],
  run: async (ctx) => {
    await ctx.io.list(
      await ctx.call('GET /admin/key-sets'),
      {
        ID: (set) => set.id,
        DIVERSIFICATION: (set) => set.diversification,
        TEMPLATE: (set) => set.template,
        PROVISIONS: (set) => set.canProvision,
        CHIPS: (set) => set.chips,
        CREATED: (set) => set.createdAt,
      },
      'No key sets. Create one: tapchip key-sets create --file keys.json',
    )
  },
})

/** Keys are not taken from flags, which process lists and shell histories show. */
const keyVariables = {
  metaReadKey: 'TAPCHIP_META_READ_KEY',
  fileReadKey: 'TAPCHIP_FILE_READ_KEY',
  appMasterKey: 'TAPCHIP_APP_MASTER_KEY',
}

const create = defineCommand({
  name: 'create',
  summary: 'Create a key set, whose keys are never shown again',
  description:
    'Create a key set from a JSON file with id, metaReadKey, fileReadKey, appMasterKey (to provision chips), ' +
    'diversification, systemIdentifier, template, tamper and mode; or with the keys in ' +
    `${Object.values(keyVariables).join(', ')}. Keys are never flags.`,
  examples: [
    'key-sets create --file keys.json',
    'key-sets create --file - < keys.json',
    'key-sets create --id 101 --diversification an10922   # keys from TAPCHIP_META_READ_KEY, …',
  ],
  options: {
    file: text('-f, --file <file>', 'JSON with the key set; - for standard input', 'file'),
    id: integer('--id <id>', 'Its number, the d of its taps', [0, 0xffffffff]),
    diversification: choice(
      '--diversification <how>',
      "How a chip's keys come from the master keys",
      diversifications,
    ),
    systemIdentifier: text('--system-identifier <hex>', 'The system identifier of AN10922'),
    template: text(
      '--template <url>',
      'The URL that its chips show, with {picc} or {uid} and {ctr}, {enc}, {tt}, {keySet}, {mac}, and ^ where the MAC begins',
    ),
    macInputFrom: choice(
      '--mac-input-from <parameter>',
      'Parameter at which the MACed text starts (default: none)',
      ['d', 'e'] as const,
    ),
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const members = options.file === undefined ? {} : await readJsonObject(ctx.system, options.file)
    const id =
      options.id ??
      numeral(members.id) ??
      Number(await ctx.prompts.text(undefined, { flag: '--id', message: 'Number of the key set' }))
    const chosen = options.diversification ?? members.diversification
    const diversification = diversifications.find((known) => known === chosen)
    if (diversification === undefined) {
      throw new UsageError(
        chosen === undefined
          ? '--diversification is missing.'
          : `The diversification ${JSON.stringify(chosen)} is unknown.`,
        `It is one of ${diversifications.join(', ')}, by flag or in the file.`,
      )
    }
    const { systemIdentifier, template, macInputFrom } = options
    const { warnings, ...set } = await ctx.call('POST /admin/key-sets', {
      body: {
        ...members,
        ...keysFromEnv(ctx),
        ...(systemIdentifier === undefined ? {} : { systemIdentifier }),
        ...(template === undefined ? {} : { template }),
        ...(macInputFrom === undefined ? {} : { macInputFrom }),
        id,
        diversification,
        metaReadKey: await metaReadKey(ctx, members),
      },
    })
    for (const warning of warnings) ctx.io.warn(warning)
    await ctx.io.one(set, (made) => ({
      Id: made.id,
      Diversification: made.diversification,
      Template: made.template,
      'Chips show': made.url,
      Provisions: made.canProvision,
    }))
    ctx.io.hint(
      `Register its chips: tapchip chips import --file chips.csv --chip-group NAME --key-set ${set.id}`,
    )
  },
})

const numeral = (value: unknown): number | undefined =>
  typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : undefined

const keysFromEnv = (ctx: CliContext): Record<string, string> =>
  Object.fromEntries(
    Object.entries(keyVariables).flatMap(([member, variable]) => {
      const key = ctx.system.env[variable]
      return key ? [[member, key.trim()]] : []
    }),
  )

const metaReadKey = async (ctx: CliContext, members: Readonly<Record<string, unknown>>): Promise<string> => {
  const key = keysFromEnv(ctx).metaReadKey ?? members.metaReadKey
  if (typeof key === 'string') return key
  return ctx.prompts.secret({
    flag: `${keyVariables.metaReadKey}, or metaReadKey in --file,`,
    message: 'SDMMetaRead key (32 hex digits)',
  })
}

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a key set that no chip uses',
  examples: ['key-sets remove 101'],
  args: { id: argument('id', 'Its number', 'key-set') },
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = readId(args.id, { noun: 'key set', list: 'key-sets list' })
    await ctx.prompts.confirmByName(options.yes, `Remove key set ${id}? Its keys cannot be recovered.`, {
      what: 'its number',
      is: (typed) => typed === String(id),
    })
    await ctx.io.one(await ctx.call('DELETE /admin/key-sets/:id', { params: { id } }), () => ({
      Removed: id,
    }))
    ctx.io.hint('See what is left: tapchip key-sets list')
  },
})

export const verbs = [list, create, learnKeySet, remove]
