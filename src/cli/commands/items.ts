import { batchFlags, refuseRunFlags, runFlags } from '../batch/input/flags.ts'
import { readJsonObject } from '../batch/input/source.ts'
import { itemApply, itemEdit } from '../batch/kinds/items.ts'
import { runSheet } from '../batch/run-sheet.ts'
import type { AnswerOf } from '../client/types.ts'
import { defineCommand } from '../command/define.ts'
import { argument, integer, optionalArgument, team, text, type Values, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { exitCodes, UsageError } from '../errors.ts'
import { colons } from '../uid.ts'
import { token } from './token.ts'

const itemArgument = { item: argument('item', 'Its id') }

const printItem = (ctx: CliContext, item: AnswerOf<'GET /items/:itemId'>): Promise<void> =>
  ctx.io.one(item, (shown) => ({
    Id: shown.id,
    Name: shown.name,
    Description: shown.description,
    Image: shown.imageUrl,
    Contract:
      shown.contract &&
      `${shown.contract.symbol} (${shown.contract.address ?? 'not deployed'}, chain ${shown.contract.chainId})`,
    Media: shown.media.map(({ url }) => url),
    Attributes: shown.attributes.map(({ name, values }) => `${name}: ${values.join('/')}`),
    Variants: shown.variants.map(({ id }) => id),
  }))

const itemFlags = {
  file: text('-f, --file <file>', 'JSON with the fields of an item; - for standard input', 'file'),
  name: text('--name <name>', 'Its name'),
  description: text('--description <text>', 'Its description'),
  imageUrl: text('--image-url <url>', 'Its image'),
  contract: text('--contract <symbol>', 'The contract whose tokens it is the template of'),
}

/** The fields of the file; flags take precedence. The daemon checks them. */
const readItem = async (
  ctx: CliContext,
  itemOptions: Values<typeof itemFlags>,
): Promise<Readonly<Record<string, unknown>>> => {
  const { file, name, description, imageUrl, contract } = itemOptions
  const members = file === undefined ? {} : await readJsonObject(ctx.system, file)
  const flags = Object.entries({ name, description, imageUrl, contract }).filter(
    ([, value]) => value !== undefined,
  )
  return { ...members, ...Object.fromEntries(flags) }
}

const list = defineCommand({
  name: 'list',
  summary: 'List the items',
  examples: ['items list', 'items list --contract-address 0x5FbD…0aa3 --chain-id 31337 --json'],
  options: {
    contractAddress: text('--contract-address <address>', 'Only those of this contract'),
    chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
    team,
  },
  run: async (ctx, { options }) => {
    const { contractAddress, chainId } = options
    const filtered = contractAddress !== undefined || chainId !== undefined
    // Only the interface has the filter, and it needs an API key; without one, an admin token lists them all.
    const byAdmin =
      !filtered && (options.team !== undefined || (!ctx.config().apiKey && !!ctx.config().adminToken()))
    if (!byAdmin) ctx.needApiKey()
    const items = byAdmin
      ? await ctx.call('GET /admin/items', { query: { team: options.team } })
      : await ctx.call('GET /items', { query: { contractAddress, chainId } })
    await ctx.io.list(
      items,
      {
        ID: (item) => item.id,
        NAME: (item) => item.name,
        CONTRACT: (item) => item.contract?.symbol,
        VARIANTS: (item) => item.variants.map(({ id }) => id),
        DESCRIPTION: (item) => item.description,
      },
      'No items. Create one: tapchip items create --file item.json',
    )
  },
})

const show = defineCommand({
  name: 'show',
  summary: 'Show an item',
  examples: ['items show jacket', 'items show jacket --json'],
  args: itemArgument,
  run: async (ctx, { args }) => {
    ctx.needApiKey()
    await printItem(ctx, await ctx.call('GET /items/:itemId', { params: { itemId: args.item } }))
  },
})

const chips = defineCommand({
  name: 'chips',
  summary: 'List the chips of an item',
  examples: ['items chips jacket', 'items chips jacket --json'],
  args: itemArgument,
  run: async (ctx, { args }) => {
    ctx.needApiKey()
    await ctx.io.list(
      await ctx.call('GET /items/:itemId/chips', { params: { itemId: args.item } }),
      {
        UID: (chip) => chip.uid,
        HEX: (chip) => colons(chip.uid),
        TOKEN: (chip) => token(chip.linkedToken),
      },
      'No chips. Bind one: tapchip chips link UID --item ITEM',
    )
  },
})

const written = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const create = defineCommand({
  name: 'create',
  summary: 'Create an item, a template for tokens',
  description:
    'Create an item by flags, or from a JSON file with id, name, description, imageUrl, contract (a symbol), media, attributes and variants.',
  examples: ['items create --id jacket --name Jacket --contract JKT', 'items create --file jacket.json'],
  options: { id: text('--id <id>', 'Letters, digits, dots, dashes, underscores'), ...itemFlags, team },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const members = await readItem(ctx, options)
    const id = await ctx.prompts.text(options.id ?? written(members.id), {
      flag: '--id',
      message: 'Id of the item',
    })
    const name = await ctx.prompts.text(written(members.name), {
      flag: '--name',
      message: 'Name of the item',
    })
    await printItem(
      ctx,
      await ctx.call('POST /admin/items', { body: { ...members, id, name, team: options.team } }),
    )
    ctx.io.hint(`Bind a chip to it: tapchip chips link UID --item ${id}`)
  },
})

const edit = defineCommand({
  name: 'edit',
  summary: 'Change an item, or many from a file; given values replace existing ones',
  description:
    'Change an item; given values replace existing ones. Many from a file with the column id and any of name, ' +
    'description, imageUrl, contract, media, attributes and variants (the last three as JSON; empty: cleared). The whole ' +
    'file is checked before the first item is written.',
  examples: [
    'items edit jacket --name "Winter jacket"',
    'items edit jacket --file jacket.json',
    'items edit --file items.csv --dry-run',
    'items edit --file items.csv --failed again.csv',
  ],
  args: { item: optionalArgument('item', 'Its ID; without it, --file is a sheet of many items') },
  options: {
    ...runFlags,
    ...batchFlags,
    ...itemFlags,
    name: text('--name <name>', 'The name of the item; with a sheet, of the batch'),
    file: text(
      '-f, --file <file>',
      'JSON with the fields of the item, or a sheet if no item is given; - for standard input',
      'file',
    ),
    team,
    yes,
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { file, name, description, imageUrl, contract } = options
    if (args.item === undefined) {
      if (file === undefined) throw new UsageError('Specify which item, or give a sheet of many: --file.')
      if ([description, imageUrl, contract].some((flag) => flag !== undefined))
        throw new UsageError('--file already says what the items get: leave out the flags that also say it.')
      return runSheet(ctx, itemEdit, file, { ...options, name: runFlags.name.read(name) })
    }
    refuseRunFlags({ ...options, name: undefined })
    const members = await readItem(ctx, options)
    if (Object.keys(members).length === 0)
      throw new UsageError(
        'Specify what to change: --file, --name, --description, --image-url or --contract.',
      )
    const body = { ...members, team: options.team }
    await printItem(ctx, await ctx.call('PATCH /admin/items/:id', { params: { id: args.item }, body }))
    ctx.io.hint(`See its chips: tapchip items chips ${args.item}`)
    return exitCodes.done
  },
})

const apply = defineCommand({
  name: 'apply',
  summary: 'Create or change items from a sheet',
  description:
    'Create items that are missing and change the others, from a file with the column id and any of name, description, ' +
    'imageUrl, contract, media, attributes and variants (the last three as JSON; empty: cleared). An item that is created ' +
    'needs a name. The whole file is checked before the first item is written.',
  examples: ['items apply --file items.csv --dry-run', 'items apply --file items.csv --failed again.csv'],
  options: { ...batchFlags, ...runFlags, team, yes },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const file = await ctx.prompts.text(options.file, { flag: '--file', message: 'File with the items' })
    return runSheet(ctx, itemApply, file, options)
  },
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove an item that no chip is bound to',
  examples: ['items remove jacket'],
  args: itemArgument,
  options: { team, yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    await ctx.prompts.confirm(options.yes, `Remove the item "${args.item}"?`)
    const request = { params: { id: args.item }, query: { team: options.team } }
    await ctx.io.one(await ctx.call('DELETE /admin/items/:id', request), () => ({ Removed: args.item }))
    ctx.io.hint('See what is left: tapchip items list')
  },
})

export const verbs = [list, show, chips, create, edit, apply, remove]
