import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { defineCommand } from '../../command/define.ts'
import { choice, flag, team, text } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { withFiles } from '../../file-problem.ts'
import { counted } from '../../io/text.ts'
import { indexPage, indexTitle } from './index-page.ts'
import { openInBrowser } from './open-in-browser.ts'

export const preview = defineCommand({
  name: 'preview',
  summary: 'Write every state of the tap page as files, to look at',
  description:
    'Write each state of the page that people see when they tap a chip: what it offers, what is pending, done, or failed, ' +
    "and every refusal, with a page that shows all of them side by side. They have the team's look (refusals have the " +
    "page's own), and sample data, or those of an item. It takes no chip and no tap, and nothing is sent: the forms of " +
    'these pages do nothing.',
  examples: [
    'pages preview --open',
    'pages preview --team Acme --item jacket --lang de --out preview',
    "pages preview --state claim --json | jq -r '.pages[0].file'",
  ],
  options: {
    team,
    item: text('--item <id>', "An item of the team, in place of the sample's"),
    state: text('--state <state>', 'Only this state, such as claim, two-taps, or replayed'),
    language: choice('--lang <language>', 'The language', ['en', 'de']),
    out: text('--out <folder>', 'Where to write them (default: a new folder for temporary files)', 'file'),
    open: flag('--open', 'Open them in the browser of this machine'),
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const { item, state, language, out } = options
    const answer = await ctx.call('GET /admin/pages/preview', {
      query: { team: options.team, item, state, language },
    })
    // They name files, and another daemon's names are not ours.
    const pages = answer.filter((page) => /^[\w-]{1,100}$/.test(page.state))
    await ctx.beforeChange(
      `Would write ${counted(pages.length, 'page')}${out === undefined ? '' : ` to ${out}`}`,
    )
    const folder = out === undefined ? newFolder() : ownFolder(resolve(ctx.system.cwd, out))
    const written = withFiles({ path: folder, verb: 'written' }, () => {
      mkdirSync(folder, { recursive: true })
      const files = pages.map(({ html, ...page }) => {
        const file = join(folder, `${page.state}.html`)
        writeFileSync(file, html)
        return { ...page, file }
      })
      const index = join(folder, 'index.html')
      writeFileSync(index, indexPage(pages))
      return { index, pages: files }
    })
    const { index } = written
    await ctx.io.line(written, () => index)
    ctx.io.note(`${counted(pages.length, 'state')} of the tap page.`)
    if (options.open && !(await openInBrowser(index, ctx.system.env)))
      ctx.io.warn(`No browser could be started here. Open this file in one: ${index}`)
  },
})

/** @throws UsageError for somebody's own website, which has an index, too */
const ownFolder = (folder: string): string => {
  const index = join(folder, 'index.html')
  const isOthers = existsSync(index) && !readFileSync(index, 'utf8').includes(`<title>${indexTitle}</title>`)
  if (isOthers)
    throw new UsageError(
      `${index} was not written by this command. Nothing was written.`,
      'Choose another folder: --out FOLDER',
    )
  return folder
}

const newFolder = (): string =>
  withFiles({ path: tmpdir(), verb: 'written' }, () => mkdtempSync(join(tmpdir(), 'tapchip-pages-')))
