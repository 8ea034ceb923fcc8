import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { consolePictures, drawConsole } from '../support/console-pictures.ts'
import { drawPicture, pictures } from '../support/tap-page-pictures.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'docs/images')

/** Of a WebP file, lossy or extended: https://developers.google.com/speed/webp/docs/riff_container */
function sizeOf(webp: Buffer): [width: number, height: number] {
  if (webp.toString('latin1', 12, 16) === 'VP8X')
    return [webp.readUIntLE(24, 3) + 1, webp.readUIntLE(27, 3) + 1]
  return [webp.readUInt16LE(26) & 0x3fff, webp.readUInt16LE(28) & 0x3fff]
}

/** `npm run pictures` replaces those of the docs. */
const isReplacing = process.env.TAPCHIP_PICTURES === 'replace'

/** Replaces the picture, or compares it with what the page looks like now. */
function keep(name: string, drawn: Buffer, maxBytes: number): void {
  const file = join(folder, `${name}.webp`)
  if (isReplacing) writeFileSync(file, drawn)
  const kept = readFileSync(file)
  expect(sizeOf(kept)).toEqual(sizeOf(drawn))
  for (const { length } of [drawn, kept]) expect([name, length < maxBytes]).toEqual([name, true])
}

const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

let browser: Browser
beforeAll(async () => {
  mkdirSync(folder, { recursive: true })
  browser = await openBrowser()
})
afterAll(() => browser.close())

test('the pictures of the tap page are of the page as it is drawn, small, and each of them is shown', async () => {
  for (const [name, picture] of Object.entries(pictures)) {
    keep(name, await drawPicture(browser, picture), 60_000)
    expect(textOf('docs/tap-page.md')).toContain(`](images/${name}.webp)`)
  }
  expect(textOf('README.md').slice(0, 4000)).toContain('](docs/images/tap-page.webp)')
})

test('the pictures of the console are of the console as it is drawn, small, and each of them is shown', async () => {
  for (const [name, drawn] of await drawConsole(browser)) {
    keep(name, drawn, 150_000)
    expect(textOf('docs/console.md')).toContain(`](images/${name}.webp)`)
  }
  expect(textOf('README.md')).toContain('](docs/images/console-now.webp)')
})

test('there are no other pictures', () => {
  const made = readdirSync(folder).filter((name) => name.endsWith('.webp'))
  const drawn = [...Object.keys(pictures), ...consolePictures].map((name) => `${name}.webp`)
  expect(made.sort()).toEqual(drawn.sort())
})
