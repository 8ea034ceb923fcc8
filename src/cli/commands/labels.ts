import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isLoopback } from '../client/errors.ts'
import { defineCommand } from '../command/define.ts'
import { choice, integer, team, text, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { CliError, exitCodes, UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { counted, shellQuoted } from '../io/text.ts'
import { type Label, labelsOfBatch, labelsOfGroup } from '../labels/chips.ts'
import { type NamedFile, writePdf } from '../labels/pdf.ts'
import { a4, roll } from '../labels/sheet.ts'
import { openFile } from './chips/export.ts'

const print = defineCommand({
  name: 'print',
  summary: 'Make a PDF with a label for each chip of a batch or of a group',
  description:
    'Make a PDF with a label for each chip of a batch, in the order of its rows, or of a chip group. A label has a QR ' +
    'code, the label of the chip, the name of its item, and its UID. For A4: 21 labels of 63.5 × 38.1 mm (Avery L7160); ' +
    'print it at its actual size. For a roll: one label per page. The QR code is the UID; with --qr page, a URL of ' +
    'the daemon with the UID, which asks whoever opens it to tap the chip.',
  examples: [
    'labels print --batch b_1hq3v9k7s2m4xa --out labels.pdf',
    'labels print --chip-group Jackets --out jackets.pdf --skip 5 --logo acme.png',
    'labels print --chip-group Jackets --out roll.pdf --format roll --size 62x29 --qr page',
  ],
  options: {
    batch: text('--batch <id>', 'The chips that succeeded in this batch', 'batch'),
    chipGroup: text('--chip-group <name|id>', 'The chips of this group', 'chip-group'),
    out: text('-o, --out <file>', 'The PDF', 'file'),
    format: choice('--format <format>', 'What is printed on (default: a4)', ['a4', 'roll']),
    qr: choice('--qr <content>', "The UID, or an address of the chip's page (default: uid)", ['page', 'uid']),
    size: text('--size <WxH>', 'A label of the roll, in millimetres (default: 62x29)'),
    skip: integer('--skip <count>', 'Labels already used on the first A4 sheet', [0, a4.places.length - 1]),
    logo: text('--logo <file>', 'A PNG or JPEG for each label', 'file'),
    font: text(
      '--font <file>',
      'A font for texts that are not in Latin letters: .ttf, .otf, or .ttc',
      'file',
    ),
    team,
    yes,
  },
  run: async (ctx, { options }) => {
    const { batch, chipGroup, out: file, format = 'a4', size, skip } = options
    ctx.needAdmin()
    if ((batch === undefined) === (chipGroup === undefined))
      throw new UsageError('Specify which chips: --batch ID or --chip-group GROUP, one of the two.')
    if (file === undefined || file === '-') throw new UsageError('--out is missing: the PDF needs a file.')
    if (format === 'a4' && size !== undefined) throw new UsageError('--size is for --format roll.')
    if (format === 'roll' && skip !== undefined) throw new UsageError('--skip is for sheets of A4.')
    const request = {
      sheet: format === 'roll' ? roll(size) : a4,
      skip: skip ?? 0,
      qrOf: options.qr === 'page' ? await pageOf(ctx) : (uid: string) => uid,
      logo: readFlagFile(ctx, options.logo, maxLogoBytes),
      font: readFlagFile(ctx, options.font, maxFontBytes),
    }
    const { labels, missing } = await chosen(ctx, options)
    await ctx.beforeChange(`Would write labels to ${file}`)
    const out = openFile(ctx, file)
    if (out.isThere) await ctx.prompts.confirm(options.yes, `${file} exists. Overwrite it?`)
    try {
      const { labels: count, pages } = await writePdf(ctx, labels, request, out.write)
      if (count === 0) throw none(options)
      await out.end()
      await ctx.io.line({ out: file, labels: count, pages }, () => file)
      ctx.io.note(`${counted(count, 'label')} on ${counted(pages, 'page')} written to ${file}.`)
    } catch (error) {
      await out.discard()
      throw error
    }
    if (missing === 0) {
      ctx.io.hint(`Print it at its actual size (100 %): lp -o print-scaling=none ${shellQuoted(file)}`)
      return exitCodes.done
    }
    ctx.io.warn(
      `${counted(missing, 'chip')} of the batch ${missing === 1 ? 'is' : 'are'} not registered any more, and have no label here.`,
    )
    return exitCodes.partial
  },
})

const chosen = async (
  ctx: CliContext,
  {
    batch,
    chipGroup = '',
    team,
  }: { batch?: string | undefined; chipGroup?: string | undefined; team?: string | undefined },
): Promise<{ readonly labels: readonly Label[]; readonly missing: number }> =>
  batch === undefined
    ? { labels: await labelsOfGroup(ctx, chipGroup, team), missing: 0 }
    : labelsOfBatch(ctx, batch, team)

const none = ({ batch }: { readonly batch?: string | undefined }): CliError =>
  new CliError(
    `The ${batch === undefined ? 'group' : 'batch'} has no chips to print labels for. Nothing was written.`,
    {
      advice:
        batch === undefined
          ? 'Add some: tapchip chips import --file chips.csv'
          : `See the results of its rows: tapchip batch report ${batch}`,
    },
  )

/** The daemon's public address, which may differ from ours. */
const pageOf = async (ctx: CliContext): Promise<(uid: string) => string> => {
  const { url } = await ctx.call('GET /admin/status')
  const base = url.replace(/\/+$/, '')
  // They may be a trial, so it is no refusal.
  if (isLoopback(new URL(url).hostname))
    ctx.io.warn(
      `The QR codes lead to ${base}, which no phone can open. Start the daemon with --base-url, and print them again.`,
    )
  return (uid) => `${base}/t/${uid}`
}

/** Bytes. */
const maxLogoBytes = 4 * 2 ** 20
const maxFontBytes = 64 * 2 ** 20

const readFlagFile = (ctx: CliContext, file: string | undefined, maxBytes: number): NamedFile | undefined => {
  if (file === undefined) return undefined
  const content = withFiles({ path: file, verb: 'read' }, () => readFileSync(resolve(ctx.system.cwd, file)))
  if (content.length <= maxBytes) return { name: file, content }
  throw new UsageError(`${file} is larger than ${maxBytes / 2 ** 20} MiB.`)
}

export const verbs = [print]
