import { createReadStream } from 'node:fs'
import { beginsAnew, ChainCheck, type ChainLink } from '../../../values/audit-chain.ts'
import { isJsonObject, type JsonObject, parseObject } from '../../../values/json.ts'
import { linesOf } from '../../../values/line-splitter.ts'
import type { AnswerOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, exitCodes, UsageError } from '../../errors.ts'
import { fileProblem } from '../../file-problem.ts'
import { readBox } from '../../nfc/saved-box.ts'
import { findBatch } from '../batch/find.ts'

type Verdict = Exclude<AnswerOf<'GET /admin/audit/verify'>, { checked: number }>

export const verify = defineCommand({
  name: 'verify',
  summary: 'Check that nobody changed, removed, or added entries of the audit log',
  description:
    'Check that nobody changed, removed, or added entries of the audit log. Each entry has a hash over itself and the ' +
    'one before; the number of entries and the last hash are stored separately, sealed by the data key. Exits with 1 if the ' +
    'log is not intact. An export is checked with --file, without the daemon.',
  examples: [
    'audit verify',
    'audit verify --batch b_1hq3v9k7s2m4xa',
    'audit verify --file audit.jsonl --json',
  ],
  options: {
    expect: text(
      '--expect <hash>',
      'Also check that this hash, from a batch or an earlier check, is in the log',
    ),
    batch: text(
      '--batch <id>',
      'Also check that the hash that this batch recorded at its end is in the log',
      'batch',
    ),
    file: text('-f, --file <file>', 'Check this export instead of the log of the daemon', 'file'),
  },
  run: async (ctx, { options }) => {
    const expected = await expectedHash(ctx, options)
    const verdict = await (options.file === undefined
      ? verifyDaemon(ctx, expected)
      : verifyFile(ctx, options.file, expected))
    await ctx.io.one(verdict, ({ entries, head, sealedSince, beganAnew, firstBad, expectedAt }) => ({
      Whole: firstBad === undefined,
      Entries: entries,
      Head: head,
      'Sealed since': sealedSince ?? undefined,
      'Began anew': beganAnew.length > 0 ? beganAnew.join(', ') : undefined,
      'First bad': firstBad,
      'Expected at': expectedAt,
    }))
    const lastRestart = verdict.beganAnew.at(-1)
    if (lastRestart !== undefined)
      ctx.io.warn(
        `The log was resealed at ${lastRestart}: until then, it could be edited unnoticed. If that was not your own restore, ` +
          'do not trust older entries; otherwise compare them with an export or a backup from before.',
      )
    if (verdict.firstBad !== undefined)
      ctx.io.warn(
        `The audit log is not intact: entry ${verdict.firstBad} was changed, removed, or added, or the end was cut off. ` +
          'Compare it with an earlier export or backup.',
      )
    else if (!verdict.ok)
      ctx.io.warn(
        'No entry has the expected hash: the log is from before it, as after restoring a backup, or it was replaced.',
      )
    return verdict.ok ? exitCodes.done : exitCodes.failed
  },
})

const expectedHash = async (
  ctx: CliContext,
  { expect, batch }: { readonly expect: string | undefined; readonly batch: string | undefined },
): Promise<string | undefined> => {
  if (batch === undefined) {
    if (expect === undefined || /^[0-9a-f]{64}$/.test(expect)) return expect
    throw new UsageError(`--expect must be a hash of 64 hex digits, not "${expect}".`)
  }
  if (expect !== undefined) throw new UsageError('Choose either --expect or --batch.')
  const box = readBox(ctx.system, batch)
  const auditHead = box ? box.end?.auditHead : (await findBatch(ctx, batch)).batch.auditHead
  if (auditHead != null) return auditHead
  throw new CliError(
    `Batch ${batch} has no hash of the audit log: it has not ended, or an earlier version ran it.`,
  )
}

const verifyDaemon = async (ctx: CliContext, expect: string | undefined): Promise<Verdict> => {
  ctx.needAdmin()
  const client = await ctx.client()
  const progress = ctx.io.progress('Checking', undefined)
  let done = 0
  try {
    for await (const line of client.stream('GET /admin/audit/verify', { query: { expect } })) {
      if (!('checked' in line)) return line
      progress.advance(line.checked - done)
      done = line.checked
    }
  } finally {
    progress.end()
  }
  throw new CliError('The daemon ended the check before it was done.', { advice: 'Run it again.' })
}

/** @throws CliError if the file is no export */
const verifyFile = async (ctx: CliContext, file: string, expected: string | undefined): Promise<Verdict> => {
  const path = file.startsWith('/') ? file : `${ctx.system.cwd}/${file}`
  const noExport = (line: number) =>
    new CliError(`${file} is not an export of the audit log: line ${line} does not belong in one.`, {
      advice: 'Make one: tapchip audit export --file FILE',
    })
  let check: ChainCheck | undefined
  let head = ''
  let sealedSince: string | null = null
  const beganAnew: string[] = []
  let expectedAt: number | null = null
  try {
    const source = file === '-' ? ctx.system.stdin : createReadStream(path)
    for await (const text of linesOf(textsOf(source.setEncoding('utf8')))) {
      const line = parseObject(text)
      if (check === undefined) {
        const previous = line?.previous
        if (line?.format !== 'tapchip-audit' || line.version !== 1 || !isJsonObject(previous))
          throw noExport(1)
        head = String(line.head)
        if (typeof line.sealedSince === 'string') ({ sealedSince } = line)
        check = new ChainCheck({ hash: String(previous.hash), id: Number(previous.id) })
        if (check.hash === expected) expectedAt = check.lastId
      } else if (!check.take(entryOf(line ?? {}, check.lastId + 1))) break
      else {
        if (check.hash === expected) expectedAt = check.lastId
        if (line && beginsAnew(line.action, isJsonObject(line.detail) ? line.detail : undefined))
          beganAnew.push(String(line.at))
      }
    }
  } catch (error) {
    throw fileProblem(error, { path: file, verb: 'read', advice: 'Check the name.' }) ?? error
  }
  if (check === undefined) throw noExport(1)
  check.end({ entries: check.entries, hash: head })
  const { firstBad, entries } = check
  return {
    ok: firstBad === undefined && (expected === undefined || expectedAt !== null),
    entries,
    head,
    sealedSince,
    beganAnew,
    ...(firstBad === undefined ? {} : { firstBad }),
    ...(expected === undefined ? {} : { expectedAt }),
  }
}

const entryOf = (line: JsonObject, next: number): ChainLink => {
  const { id, at, actor, teamId, action, target, detail, requestId, batch, hash } = line
  return {
    ...{ at, actor, teamId, action, target, requestId, batch, hash },
    id: typeof id === 'number' ? id : next,
    detail: JSON.stringify(detail) ?? '',
  }
}

async function* textsOf(source: NodeJS.ReadableStream): AsyncGenerator<string> {
  for await (const chunk of source) yield String(chunk)
}
