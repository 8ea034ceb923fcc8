import { writeFileSync } from 'node:fs'
import type { Learned } from '../../nfc/learn/learn.ts'
import { defineCommand } from '../command/define.ts'
import { integer, repeated, text } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { shellQuoted } from '../io/text.ts'
import { bothForms, colons } from '../uid.ts'

const maxUrls = 16

export const learnKeySet = defineCommand({
  name: 'learn',
  summary: 'Find the key set of chips that others set up, from a tap and your keys',
  description:
    'From the URL of a tap and the keys that you have, find how the chips speak: their parameters, what the MAC covers, ' +
    "and how each chip's key is derived (as it is, AN10922, bolt card, sdm-backend). It asks no daemon, and the keys stay on this machine. " +
    'URLs of several chips make it certain. Without --keys, only the zero keys of the factory are tried.',
  examples: [
    "key-sets learn --url 'https://t.example/?p=4E2E…&c=E19C…' --keys wipe.json",
    "key-sets learn --url 'https://…' --url 'https://…' --keys keys.txt --out key-set.json",
  ],
  options: {
    url: repeated('--url <url>', 'The URL of a tap, in quotes; again for a tap of another chip'),
    keys: text(
      '--keys <file>',
      'Your keys: JSON ({ "k0": "…", … }, a wipe file, a key set), or one per line; - for standard input',
      'file',
    ),
    id: integer('--id <id>', 'The number of the key set (default: that in the URL, or any)', [0, 0xffffffff]),
    out: text('--out <file>', 'Write the key set there, for key-sets create --file', 'file'),
  },
  run: async (ctx, { options }) => {
    const { url: urls, keys: file, id, out } = options
    if (urls.length === 0)
      throw new UsageError(
        '--url is missing.',
        'Give the URL of a tap in quotes: tapchip nfc read --json prints the one of a chip.',
      )
    if (urls.length > maxUrls) throw new UsageError(`--url can be given ${maxUrls} times.`)
    const { readKeysFile } = await import('../nfc/keys-file.ts')
    const keys = file === undefined ? [] : await readKeysFile(ctx.system, file)
    const { learn } = await import('../../nfc/learn/learn.ts')
    const learned = learn({ urls, keys: keys.map(({ key, name }) => ({ bytes: key, name })), id })
    const uids = new Set(keys.flatMap(({ uid }) => uid ?? []))
    if (!learned.found) return tellNearest(ctx, learned, uids)
    const warnings = [...learned.warnings, ...warningsOfFile(learned, uids)]
    if (out !== undefined) await writeKeySet(ctx, out, learned.keySet)
    await tellFound(ctx, { ...learned, warnings }, out)
    return exitCodes.done
  },
})

type Found = Extract<Learned, { found: true }>

/** Wipe files have the keys of one chip. */
function warningsOfFile({ keySet, taps }: Found, uids: ReadonlySet<string>): string[] {
  if (keySet.diversification !== 'none' || !taps.every(({ uid }) => uids.has(uid))) return []
  return [
    'The file has the keys of one chip, and the key set is for that chip alone, unless all of your chips have the same keys. If each has its own, import them under a key set with the diversification listed.',
  ]
}

async function writeKeySet(ctx: CliContext, out: string, keySet: Found['keySet']): Promise<void> {
  await ctx.beforeChange(`Would write the key set to ${out}`)
  const path = out.startsWith('/') ? out : `${ctx.system.cwd}/${out}`
  try {
    writeFileSync(path, `${JSON.stringify(keySet, null, 2)}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    throw new UsageError(`${out} exists, and may hold other keys.`, 'Give the name of a new file with --out.')
  }
}

async function tellFound(ctx: CliContext, { keySet, names, taps, warnings }: Found, out: string | undefined) {
  const [tap] = taps
  const uids = new Set(taps.map((one) => one.uid))
  const { uid = '', counter = 0, tamper = null, fileData = null } = tap ?? {}
  await ctx.io.one({ found: true, keySet, uid, counter, tamper, fileData, warnings }, () => ({
    Template: keySet.template,
    'MAC covers': /\^(.*)\{mac\}/.exec(keySet.template)?.[1] ?? 'no text',
    Derivation: keySet.systemIdentifier
      ? `${keySet.diversification} (system identifier ${keySet.systemIdentifier})`
      : keySet.diversification,
    'File-read key': names.fileRead,
    'Meta-read key': names.metaRead ?? 'none: the UID is not encrypted',
    UID: [...uids].map(bothForms).join(', '),
    Counter: taps.map((one) => one.counter).join(', '),
    ...(tamper === null ? {} : { Tamper: tamper }),
    ...(fileData === null ? {} : { 'File data': fileData }),
  }))
  if (ctx.io.json) return
  for (const warning of warnings) ctx.io.warn(`Warning: ${warning}`)
  if (keySet.diversification === 'none' && uids.size === 1 && !/^0+$/.test(keySet.fileReadKey))
    ctx.io.hint(
      'Check a tap of another chip as well: tapchip key-sets learn --url URL --url URL2 --keys FILE',
    )
  ctx.io.hint(
    out === undefined
      ? 'Write it to a file: add --out key-set.json. Then load it: tapchip key-sets create --file key-set.json'
      : `Load it: tapchip key-sets create --file ${shellQuoted(out)}, then delete the file, which has the keys`,
  )
}

async function tellNearest(
  ctx: CliContext,
  { nearest: { reason, ...nearest }, warnings }: Extract<Learned, { found: false }>,
  uids: ReadonlySet<string>,
): Promise<ExitCode> {
  const isOther = nearest.uid !== null && uids.size > 0 && !uids.has(nearest.uid)
  const why = isOther
    ? `${reason} The keys of the file are those of another chip: ${[...uids].map(colons).join(', ')}.`
    : reason
  if (!ctx.io.json) {
    for (const warning of warnings) ctx.io.warn(`Warning: ${warning}`)
    throw new CliError(`No key set fits. ${why}`)
  }
  await ctx.io.one({ found: false, nearest: { ...nearest, reason: why }, warnings }, () => ({}))
  return exitCodes.failed
}
