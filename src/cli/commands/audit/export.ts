import { defineCommand } from '../../command/define.ts'
import { moment, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { counted, jsonLine, shellQuoted } from '../../io/text.ts'
import { openFile } from '../chips/export.ts'

export const exportAudit = defineCommand({
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
