import { guestbookUnassignment } from '../../batch/kinds/guestbook-assignments.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { contractFlags, readContractFlags } from '../contracts/contract.ts'
import { assertOneWay, eventChipFlags, runEventChips } from '../event-chips.ts'
import { metadataFields, metadataFlags, readEventMetadata } from '../metadata.ts'
import { hintAtTransaction, idempotencyFlag, sendOnce } from '../sending.ts'
import { assign } from './assign.ts'
import { contractFlag, needContract, readContract } from './contract.ts'
import { eventArgument, eventFlags, readEvent, readEventId } from './event.ts'
import { mint } from './mint.ts'

const contracts = defineCommand({
  name: 'contracts',
  summary: 'List the guestbook contracts',
  examples: ['guestbook contracts', 'guestbook contracts --json'],
  run: async (ctx) => {
    ctx.needApiKey()
    await ctx.io.list(
      await ctx.call('GET /events/contracts'),
      {
        ID: (contract) => contract.id,
        SYMBOL: (contract) => contract.symbol,
        NAME: (contract) => contract.name,
        CHAIN: (contract) => contract.chainId,
        ADDRESS: (contract) => contract.address,
        STATUS: (contract) => contract.status,
      },
      'No guestbook contracts. Deploy one: tapchip guestbook deploy --help',
    )
  },
})

const list = defineCommand({
  name: 'list',
  summary: 'List the guestbook events',
  examples: ['guestbook list', 'guestbook list --contract GB --json'],
  options: contractFlag,
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const { contract } = options
    const contractId = contract === undefined ? undefined : await readContract(ctx, contract)
    await ctx.io.list(
      await ctx.call('GET /events', { query: { contractId } }),
      {
        ID: (event) => event.id,
        NAME: (event) => event.name,
        'TOKEN ID': (event) => event.contract.tokenId,
        CONTRACT: (event) => event.contract.address ?? `${event.contract.id} (pending)`,
        CHAIN: (event) => event.contract.chainId,
        CREATED: (event) => event.createdAt,
      },
      'No events. Create one: tapchip guestbook create --help',
    )
  },
})

const create = defineCommand({
  name: 'create',
  summary: 'Create an event on a guestbook contract',
  description: `Create an event on a guestbook contract: a token ID of which each guest gets one token. ${metadataFields}`,
  examples: [
    'guestbook create --contract GB --name Opening --token-id 1 --file opening.json',
    `guestbook create --contract 3 --name Opening --token-id 1 --metadata '{"name":"Opening","collection":"Guests","description":"","image":"","attributes":[]}'`,
  ],
  options: {
    ...contractFlag,
    name: text('--name <name>', "The team's label for it"),
    tokenId: text('--token-id <id>', 'Its token ID, unused on the contract'),
    ...metadataFlags,
    ...idempotencyFlag,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const contractId = await needContract(ctx, options.contract)
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'Name of the event' })
    const tokenId = await ctx.prompts.text(options.tokenId, { flag: '--token-id', message: 'Token id' })
    const metadata = await readEventMetadata(ctx, options)
    const body = { name, tokenId, contractId, metadata }
    const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /events', { body, idempotencyKey }),
    )
    await ctx.io.one(made, ({ id }) => ({ Id: id, Name: name, 'Token id': tokenId }))
    ctx.io.hint(
      `Let chips give codes for it: tapchip guestbook assign ${made.id} UID. Mint to a guest: tapchip guestbook mint ${made.id} --recipient WHO`,
    )
  },
})

const deploy = defineCommand({
  name: 'deploy',
  summary: 'Deploy a guestbook contract',
  description:
    'Deploy a guestbook contract: the collection whose tokens guests get, one token ID per event. ' +
    'Events and mints can be requested at once; they wait until it is deployed.',
  examples: [
    'guestbook deploy --symbol GB --name Guests --chain-id 31337',
    'guestbook deploy --symbol GB --name Guests --chain-id 8453 --json',
  ],
  options: {
    ...contractFlags,
    ...idempotencyFlag,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const body = await readContractFlags(ctx, options)
    const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /events/contracts', { body, idempotencyKey }),
    )
    await ctx.io.one(made, ({ contractId }) => ({
      Id: contractId,
      Symbol: body.symbol,
      Chain: body.chainId,
    }))
    ctx.io.hint(
      `It is on its way: tapchip guestbook contracts. Create an event on it: tapchip guestbook create --contract ${made.contractId} --name NAME --token-id 1 --file event.json`,
    )
  },
})

const metadata = defineCommand({
  name: 'metadata',
  summary: 'Replace the metadata of an event, and ask marketplaces to refresh it',
  description: `Replace the metadata of an event. ${metadataFields}`,
  examples: [
    'guestbook metadata 4 --file opening.json',
    'guestbook metadata --contract GB --token-id 1 --file opening.json --name "Opening night"',
  ],
  args: eventArgument,
  options: {
    ...eventFlags,
    ...metadataFlags,
    name: text('--name <name>', "The team's new label for it"),
  },
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const event = await readEvent(ctx, { ...options, ...args })
    const { name } = options
    const body = { ...event, metadata: await readEventMetadata(ctx, options), name }
    const done = await ctx.call('PATCH /events/metadata', { body })
    await ctx.io.one(done, () => ({
      Replaced: 'eventId' in event ? event.eventId : `#${event.tokenId} of contract ${event.contractId}`,
    }))
    ctx.io.hint(
      'Wallets and marketplaces are notified, and update when they choose to: tapchip guestbook list',
    )
  },
})

const args = { contract: argument('contract', 'The contract: its id, its symbol or its address') }

const set = async (
  ctx: CliContext,
  named: string,
  { pauseState, key }: { pauseState: boolean; key: string | undefined },
): Promise<void> => {
  ctx.needApiKey()
  const contractId = await readContract(ctx, named)
  const sent = await sendOnce(key, (idempotencyKey) =>
    ctx.call('POST /events/toggle-pause-state', { body: { contractId, pauseState }, idempotencyKey }),
  )
  await ctx.io.one(sent, ({ txnHash }) => ({ Transaction: txnHash, Paused: pauseState }))
  hintAtTransaction(ctx, sent.txnHash)
}

const pause = defineCommand({
  name: 'pause',
  summary: 'Stop transfers between the holders of a contract; minting continues',
  examples: ['guestbook pause GB', 'guestbook pause 3 --json'],
  args,
  options: idempotencyFlag,
  run: (ctx, { args: { contract }, options }) =>
    set(ctx, contract, { pauseState: true, key: options.idempotencyKey }),
})

const unpause = defineCommand({
  name: 'unpause',
  summary: 'Allow transfers between the holders of a contract again',
  examples: ['guestbook unpause GB'],
  args,
  options: idempotencyFlag,
  run: (ctx, { args: { contract }, options }) =>
    set(ctx, contract, { pauseState: false, key: options.idempotencyKey }),
})

const unassign = defineCommand({
  name: 'unassign',
  summary: 'Unassign an event from chips, whose taps then give no codes for it',
  description:
    'Unassign an event from chips: unused codes for it become invalid. Minted tokens stay. A file has the column uid.',
  examples: ['guestbook unassign 4 --chip-group Doors', 'guestbook unassign 4 --file doors.csv --dry-run'],
  args: { event: argument('event', 'The id of the event: tapchip guestbook list') },
  options: eventChipFlags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const event = readEventId(args.event)
    assertOneWay(options)
    const kind = guestbookUnassignment(event)
    if (options.file !== undefined) return runSheet(ctx, kind, options.file, options)
    return runEventChips(ctx, kind, options, {
      rowOf: (uid, row) => ({ row, uid }),
      question: (chips) => `Take event ${event} from ${chips}?`,
    })
  },
})

export const verbs = [contracts, deploy, create, list, metadata, mint, assign, unassign, pause, unpause]
