import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { drawPicture, pictures } from '../support/pictures.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'docs/images')
const mostBytes = 60_000

/** Of a WebP file, lossy or extended: https://developers.google.com/speed/webp/docs/riff_container */
function sizeOf(webp: Buffer): [width: number, height: number] {
  if (webp.toString('latin1', 12, 16) === 'VP8X')
    return [webp.readUIntLE(24, 3) + 1, webp.readUIntLE(27, 3) + 1]
  return [webp.readUInt16LE(26) & 0x3fff, webp.readUInt16LE(28) & 0x3fff]
}

/** `npm run pictures` replaces those of the docs. */
const isReplacing = process.env.TAPCHIP_PICTURES === 'replace'

test('the pictures of the docs are of the page as it is drawn, small, and each of them is shown', async () => {
  const browser = await openBrowser()
  try {
    mkdirSync(folder, { recursive: true })
    for (const [name, picture] of Object.entries(pictures)) {
      const drawn = await drawPicture(browser, picture)
      const file = join(folder, `${name}.webp`)
      if (isReplacing) writeFileSync(file, drawn)
      const kept = readFileSync(file)
      expect(sizeOf(kept)).toEqual(sizeOf(drawn))
      for (const { length } of [drawn, kept]) expect([name, length < mostBytes]).toEqual([name, true])
    }
  } finally {
    await browser.close()
  }
  const docs = readFileSync(join(root, 'docs/tap-page.md'), 'utf8')
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const made = readdirSync(folder).filter((name) => name.endsWith('.webp'))
  expect(made.sort()).toEqual(
    Object.keys(pictures)
      .map((name) => `${name}.webp`)
      .sort(),
  )
  for (const name of made) expect(docs).toContain(`](images/${name})`)
  expect(readme.slice(0, 4000)).toContain('](docs/images/tap-page.webp)')
})
