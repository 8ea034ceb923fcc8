// The page of `tapchip console`: one script, one stylesheet and an icon, named by their content and compressed here once.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const folder = 'dist/console'

/** @returns a name that changes with the content, below /assets/ */
function writeAsset(name, content) {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  const named = name.replace(/\.(\w+)$/, `-${hash}.$1`)
  writeFileSync(`${folder}/assets/${named}`, content)
  writeFileSync(`${folder}/assets/${named}.gz`, gzipSync(content, { level: 9 }))
  return `/assets/${named}`
}

/** @returns esbuild's result, whose metafile names the packages */
export async function buildConsole() {
  const result = await build({
    entryPoints: ['src/console/main.tsx', 'src/console/styles/console.css'],
    outdir: folder,
    write: false,
    bundle: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
    minify: true,
    metafile: true,
  })
  mkdirSync(`${folder}/assets`, { recursive: true })
  const contentOf = (ending) => result.outputFiles.find(({ path }) => path.endsWith(ending)).contents
  const names = {
    icon: writeAsset('icon.svg', readFileSync('src/console/icon.svg')),
    style: writeAsset('app.css', contentOf('.css')),
    script: writeAsset('app.js', contentOf('.js')),
  }
  const index = readFileSync('src/console/index.html', 'utf8')
  writeFileSync(
    `${folder}/index.html`,
    index.replace(/\{\{(\w+)\}\}/g, (_, name) => names[name]),
  )
  return result
}
