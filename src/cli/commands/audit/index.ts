import { defineCommand } from '../../command/define.ts'
import { moment, team, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { counted, jsonLine, shellQuoted } from '../../io/text.ts'
import { chipOnWire } from '../chip-handle.ts'
import { openFile } from '../chips/export.ts'
import { fetchPage, pageFlags } from '../paging.ts'
import { verify } from './verify.ts'

const list = defineCommand({
  name: 'list',
  summary: 'List changes and who made them, newest first',
  examples: [
    'audit list',
    'audit list --by alice --since 7d --json',
    'audit list --uid 04:98:93:CA:AA:11:90',
    'audit list --batch b_1hq3v9k7s2m4xa',
  ],
  options: {
    action: text('--action <action>', 'Only this action'),
    actor: text('--actor <name>', 'Only this one, as the log names it: key:ops'),
    by: text('--by <name>', 'Only this key, token, or owner, also one that was revoked'),
    uid: text('--uid <uid>', 'Only what concerns this chip, by its UID or label'),
    batch: text('--batch <id>', 'Only what this batch changed', 'batch'),
    since: moment('--since <when>', 'Only from then on', 'ago'),
    ...pageFlags('entry'),
    team,
  },
  run: async (ctx, { options }) => {
    const { limit, ...filter } = options
    const uid = options.uid === undefined ? undefined : await chipOnWire(ctx, options.uid)
    const query = { ...filter, uid, since: options.since?.(ctx.now()) }
    const { page, hintNextPage } = await fetchPage(ctx, limit, (limit) =>
      ctx.call('GET /admin/audit', { query: { ...query, limit } }),
    )
    await ctx.io.list(
      page,
      {
        ID: (entry) => entry.id,
        AT: (entry) => entry.at,
        ACTOR: (entry) => entry.actor,
        ACTION: (entry) => entry.action,
        TARGET: (entry) => entry.target,
        TEAM: (entry) => entry.team,
        DETAIL: (entry) => brief(entry.detail),
      },
      'No changes.',
    )
    hintNextPage()
  },
})

/** A batch of five thousand rows is one entry: a table shows their number, and --json all of them. */
const brief = (detail: unknown): unknown =>
  JSON.parse(
    JSON.stringify(detail ?? null, (_, value) =>
      Array.isArray(value) && value.length > 3 ? counted(value.length, 'entry', 'entries') : value,
    ),
  )

const exportAudit = defineCommand({
  name: 'export',
  summary: 'Write the audit log as JSON lines that can be checked elsewhere',
  description:
    'Write the audit log as JSON lines, oldest first, with the hash of each entry. The first line says where the log ' +
    'begins and ends. Keep exports where nobody who can change the database can change them.',
  examples: ['audit export --file audit.jsonl', 'audit export --since 2026-11-01 > november.jsonl'],
  options: {
    file: text('-f, --file <file>', 'The output file (default: standard output)', 'file'),
    since: moment('--since <when>', 'Only from then on', 'ago'),
  },
  run: async (ctx, { options }) => {
    if (ctx.flags.fields)
      throw new UsageError(
        '--fields cannot be used here: without all of its fields, an export cannot be checked.',
      )
    ctx.needAdmin()
    const { file } = options
    const client = await ctx.client()
    const lines = client.stream('GET /admin/audit/export', { query: { since: options.since?.(ctx.now()) } })
    const out = file === undefined || file === '-' ? undefined : openFile(ctx, file)
    const write = out?.write ?? ((text: string) => ctx.io.raw(text))
    let entries = 0
    try {
      for await (const line of lines) {
        if (!('format' in line)) entries += 1
        await write(jsonLine(line))
      }
      await out?.end()
    } catch (error) {
      await out?.discard()
      throw error
    }
    ctx.io.note(`${counted(entries, 'entry', 'entries')} written${out ? ` to ${file}` : ''}.`)
    if (out) ctx.io.hint(`Check it anywhere: tapchip audit verify --file ${shellQuoted(file ?? '-')}`)
  },
})

export const verbs = [list, verify, exportAudit]
