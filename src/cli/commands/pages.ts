import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pageLanguages } from '../../values/page-languages.ts'
import { readJsonObject } from '../batch/input/source.ts'
import { defineCommand } from '../command/define.ts'
import { argument, choice, flag, optionalArgument, team, text } from '../command/options.ts'
import { UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { counted } from '../io/text.ts'

const indexTitle = 'The tap page in every state'

/** All states side by side, each as wide as a phone, below the picture, which is the same in most. @param pages names and statuses are the daemon's own, so they need no escaping */
const indexPage = (pages: readonly { readonly state: string; readonly status: number }[]): string => {
  const frames = pages.map(({ state, status }) => {
    const file = `${encodeURIComponent(state)}.html`
    return `<figure><figcaption><a href="${file}">${shown(state)}</a> ${Number(status)}</figcaption><iframe src="${file}#piece" sandbox loading="lazy" title="${shown(state)}"></iframe></figure>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${indexTitle}</title>
<style>
:root{color-scheme:light dark}
body{margin:1.5rem;font:1rem/1.5 system-ui,sans-serif;display:grid;grid-template-columns:repeat(auto-fill,minmax(min(390px,100%),1fr));gap:2rem}
h1{grid-column:1/-1;margin:0;font-size:1.3rem}
figure{margin:0}
iframe{width:100%;height:844px;border:1px solid GrayText;border-radius:1rem}
</style>
</head>
<body>
<h1>${indexTitle}</h1>
${frames.join('\n')}
</body>
</html>
`
}

const shown = (text: string): string => text.replace(/[^\w -]/g, '')

type Env = Readonly<Record<string, string | undefined>>

/** @returns false if this machine has nothing to open a file with, or no screen */
function openInBrowser(file: string, env: Env, platform = process.platform): Promise<boolean> {
  const [program, ...args] =
    platform === 'darwin' ? ['open'] : platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  return new Promise((resolve) => {
    // Detached, since some of these stay as long as the browser does.
    const child = spawn(program ?? '', [...args, file], { stdio: 'ignore', detached: true, env: { ...env } })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
    const grace = setTimeout(() => resolve(true), 3000)
    child.once('close', () => clearTimeout(grace))
    child.unref()
  })
}

const preview = defineCommand({
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
    language: choice('--lang <language>', 'The language', pageLanguages),
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
    const folder = out === undefined ? newFolder() : requireOwnFolder(resolve(ctx.system.cwd, out))
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
const requireOwnFolder = (folder: string): string => {
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

const strings = defineCommand({
  name: 'strings',
  summary: "Export and import a team's own words of the tap page",
  description:
    '`export` writes every text that can be replaced, by language and key, with the own ones of the team. Edit the file, ' +
    'and `import` it: texts that are left out, null, or as they are built in stay or become the built-in ones, so `{}` ' +
    'restores all. Placeholders such as {to} must stay. If anything is wrong, nothing is imported. Errors, refusals, and ' +
    'what cannot be undone keep their words.',
  args: {
    action: argument('action', 'export or import'),
    name: optionalArgument('team', 'Name of the team'),
  },
  examples: [
    'pages strings export Acme --out words.json',
    'pages strings import Acme --file words.json',
    'pages strings import Acme --file - <<< {}',
  ],
  options: {
    team,
    out: text('--out <file>', 'Where to write them (default: standard output)', 'file'),
    file: text('-f, --file <file>', 'JSON with the texts; - for standard input', 'file'),
  },
  run: async (ctx, { args: { action, name }, options }) => {
    ctx.needAdmin()
    const named = name ?? options.team
    if (action === 'export') {
      const { strings } = await ctx.call('GET /admin/pages/strings', { query: { team: named } })
      const { out } = options
      if (out === undefined) return ctx.io.line(strings, () => JSON.stringify(strings, null, 2))
      await ctx.beforeChange(`Would write the texts to ${out}`)
      const path = resolve(ctx.system.cwd, out)
      withFiles({ path, verb: 'written' }, () => writeFileSync(path, `${JSON.stringify(strings, null, 2)}\n`))
      return ctx.io.line({ file: path }, () => path)
    }
    if (action !== 'import')
      throw new UsageError(
        `"${action}" is neither export nor import.`,
        'Use: pages strings export, or pages strings import',
      )
    if (options.file === undefined)
      throw new UsageError('--file is missing.', 'Name the file with the texts: --file words.json')
    const read = textsOf(await readJsonObject(ctx.system, options.file))
    const { own } = await ctx.call('PUT /admin/pages/strings', { body: { team: named, strings: read } })
    await ctx.io.line({ own }, () => `${counted(own, 'text')} of the team's own.`)
  },
})

/** @throws UsageError */
function textsOf(file: Readonly<Record<string, unknown>>): Record<string, Record<string, string | null>> {
  const read: Record<string, Record<string, string | null>> = {}
  for (const [language, texts] of Object.entries(file)) {
    if (texts === null) continue
    if (typeof texts !== 'object' || Array.isArray(texts))
      throw new UsageError(
        `"${language}" has to be an object of texts by key. Nothing was imported.`,
        'See how it looks: tapchip pages strings export',
      )
    const entries = Object.entries(texts).map(([key, value]: [string, unknown]): [string, string | null] => {
      if (value === null || typeof value === 'string') return [key, value]
      throw new UsageError(`${language} ${key} has to be a text or null. Nothing was imported.`)
    })
    read[language] = Object.fromEntries(entries)
  }
  return read
}

export const verbs = [preview, strings]
