import { badgeUnassignment } from '../../batch/kinds/badge-assignments.ts'
import { runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, choice, integer, optionalArgument, team, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { colons } from '../../uid.ts'
import { assertOneWay, eventChipFlags, runEventChips } from '../event-chips.ts'
import { pageFlags } from '../paging.ts'
import { codeFlag, idempotencyFlag, sendOnce } from '../sending.ts'
import { assign } from './assign.ts'
import { create } from './create.ts'
import { decide, eventArgument, readEventId } from './event.ts'

const list = defineCommand({
  name: 'list',
  summary: 'List badge events with their status and the codes that are left',
  examples: ['badge-events list', 'badge-events list --team Acme --json'],
  options: {
    ...pageFlags('one'),
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    await ctx.io.list(
      await ctx.call('GET /admin/badge-events', { query: options }),
      {
        ID: (event) => event.id,
        NAME: (event) => event.name,
        STATUS: (event) => event.status,
        LEFT: (event) => `${event.remainingCodesCount} of ${event.requestedCodes}`,
        DAYS: (event) => `${event.startDate} to ${event.endDate}`,
        CLAIMABLE: (event) => `until ${event.expiryDate}`,
        PROVIDER: (event) => `${event.provider} ${event.poapEventId}`,
        TEAM: (event) => event.team,
      },
      'No badge events. Create one: tapchip badge-events create',
    )
  },
})

const show = defineCommand({
  name: 'show',
  summary: 'Show a badge event as apps read it; this needs no admin token',
  description:
    'Show a badge event as apps read it. A private event needs an API key of its team. With --as event or --as metadata: ' +
    "what POAP's own clients read of an event of the embedded provider, and of its badges.",
  examples: ['badge-events show 4', 'badge-events show 4 --as metadata --json'],
  args: eventArgument,
  options: { as: choice('--as <form>', 'As POAP describes events, or their badges', ['event', 'metadata']) },
  run: async (ctx, { args, options }) => {
    const event = await ctx.call('GET /badge-events/:id', { params: { id: readEventId(args.event) } })
    const { poapEventId } = event
    if (options.as === 'event') {
      const shown = await ctx.call('GET /events/id/:id', { params: { id: poapEventId } })
      await ctx.io.one(shown, ({ id, fancy_id, name, image_url }) => ({
        'Id at the provider': id,
        'Fancy id': fancy_id,
        Name: name,
        Image: image_url,
      }))
    } else if (options.as === 'metadata') {
      const params = { eventId: poapEventId, tokenId: '1' }
      const shown = await ctx.call('GET /metadata/:eventId/:tokenId', { params })
      await ctx.io.one(shown, ({ name, description, image }) => ({
        Name: name,
        Description: description,
        Image: image,
      }))
    } else
      await ctx.io.one(event, (it) => ({
        Id: it.id,
        'Id at the provider': poapEventId,
        Name: it.name,
        Description: it.description || undefined,
        Status: it.status,
        Place: [it.city, it.country].filter(Boolean).join(', ') || undefined,
        Days: `${it.startDate} to ${it.endDate}`,
        Claimable: `until ${it.expiryDate}`,
        Website: it.eventURL || undefined,
        Image: it.imageUrl || undefined,
      }))
  },
})

const claims = defineCommand({
  name: 'claims',
  summary: 'List who has badges of an event',
  examples: ['badge-events claims 4', 'badge-events claims 4 --limit 1000 --json'],
  args: eventArgument,
  options: {
    ...pageFlags('one'),
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const params = { id: readEventId(args.event) }
    await ctx.io.list(
      await ctx.call('GET /admin/badge-events/:id/claims', { params, query: options }),
      {
        ID: (claim) => claim.id,
        RECIPIENT: (claim) => claim.recipient,
        STATE: (claim) => claim.reason ?? claim.state,
        CHIP: (claim) => colons(claim.uid),
        TRANSACTION: (claim) => claim.transactionHash ?? claim.transaction,
        WHEN: (claim) => claim.claimedAt ?? claim.createdAt,
      },
      'Nobody has a badge of this event yet.',
    )
  },
})

const heldBadges = defineCommand({
  name: 'held',
  summary: 'List the badges that an address has from the embedded provider; this needs no admin token',
  examples: [
    'badge-events held 0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819',
    'badge-events held 0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819 --event 100000',
  ],
  args: { address: argument('address', 'The address of the person') },
  options: {
    event: integer('--event <id>', 'Only its badge of this event, by the id at the provider', [
      1,
      2 ** 53 - 1,
    ]),
  },
  run: async (ctx, { args: { address }, options: { event } }) => {
    await ctx.io.list(
      event === undefined
        ? await ctx.call('GET /actions/scan/:address', { params: { address } })
        : [await ctx.call('GET /actions/scan/:address/:eventId', { params: { address, eventId: event } })],
      {
        BADGE: ({ tokenId }) => tokenId,
        EVENT: ({ event }) => event.id,
        NAME: ({ event }) => event.name,
        SINCE: ({ created }) => created,
      },
      'This address has no badges from here.',
    )
  },
})

const mint = defineCommand({
  name: 'mint',
  summary: 'Mint a badge with the code of a tap, which uses up the code',
  examples: [
    'badge-events mint 4 --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth',
    'badge-events mint 4 --code V1StGXR8_Z5jdHi6B-myT --recipient ana@example.org --device-id phone-7',
  ],
  args: eventArgument,
  options: {
    ...codeFlag,
    recipient: text('--recipient <who>', 'An address (0x…), an ENS name or an email address'),
    deviceId: text('--device-id <id>', 'Each device can mint an event only once'),
    ...idempotencyFlag,
  },
  run: async (ctx, { args, options }) => {
    const poapEventId = readEventId(args.event)
    const { prompts } = ctx
    const code = await prompts.text(options.code, { flag: '--code', message: 'Code of a tap' })
    const recipient = await prompts.text(options.recipient, { flag: '--recipient', message: 'Who gets it' })
    const body = { recipient, poapEventId, deviceId: options.deviceId }
    const minted = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /badge-events/mint', { code, body, idempotencyKey }),
    )
    await ctx.io.one(minted, () => ({ Event: poapEventId, Recipient: recipient, Minted: 'yes' }))
    ctx.io.hint(`See who has badges of it: tapchip badge-events claims ${poapEventId}`)
  },
})

const approve = defineCommand({
  name: 'approve',
  summary: 'Approve an event of the embedded provider, which creates its codes',
  examples: ['badge-events approve 4'],
  args: eventArgument,
  run: async (ctx, { args }) => {
    await decide(ctx, args.event, 'approve')
    ctx.io.hint(`Let a chip give codes for it: tapchip badge-events assign ${args.event} --uid UID`)
  },
})

const reject = defineCommand({
  name: 'reject',
  summary: 'Reject an event of the embedded provider, which then gives no badges',
  description:
    'Reject an event of the embedded provider, which then gives no badges. Badges that people have stay theirs.',
  examples: ['badge-events reject 4'],
  args: eventArgument,
  run: async (ctx, { args }) => {
    await decide(ctx, args.event, 'reject')
    ctx.io.hint(`To change your mind: tapchip badge-events approve ${args.event}`)
  },
})

const unassign = defineCommand({
  name: 'unassign',
  summary: 'Unassign a badge event from chips, whose taps then give no codes for it',
  description:
    'Unassign a badge event from chips: their taps no longer show it, and unused codes for it become invalid. Minted ' +
    'badges stay. An undo assigns it again with its window and texts. A file has the column uid; without an event, also ' +
    'badgeEventId.',
  examples: [
    'badge-events unassign 4 --chip-group Doors',
    'badge-events unassign 4 --uid 04:98:93:CA:AA:11:90',
    'badge-events unassign --file doors.csv --dry-run',
  ],
  args: { event: optionalArgument('event', 'The id of the event: tapchip badge-events list') },
  options: eventChipFlags,
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const { file } = options
    assertOneWay(options)
    const event = args.event === undefined ? undefined : readEventId(args.event)
    if (file !== undefined) return runSheet(ctx, badgeUnassignment(event), file, options)
    if (event === undefined)
      throw new UsageError('Specify the event: its id, as tapchip badge-events list shows it.')
    return runEventChips(ctx, badgeUnassignment(event), options, {
      rowOf: (uid, row) => ({ row, uid, badgeEventId: event }),
      question: (chips) => `Take event ${event} from ${chips}?`,
    })
  },
})

export const verbs = [list, show, create, assign, unassign, mint, approve, reject, claims, heldBadges]
