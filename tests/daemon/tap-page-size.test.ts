import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { sectionNames, type TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { html } from '../../src/daemon/pages/tap/html.ts'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import type { PageSettings } from '../../src/daemon/pages/tap/settings.ts'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { tapPage } from '../../src/daemon/pages/tap/tap-page.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'

const now = new Date('2026-05-04T10:00:00Z')
const settings: PageSettings = {
  language: 'en',
  nonce: 'nonce-of-this-answer',
  now,
  gateways: { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' },
  script: 't/assets/page-abc.js',
  home: 'https://taps.example/nfc',
}

test.each([
  [500, 40, 'words of a trait'],
  [500, 500, 'words of a trait'],
  [60, 500, '字'],
  [60, 500, '"'],
  [0, 0, ''],
])(
  'a piece with %i attributes of %i characters, and as long texts otherwise, fits, and says that there is more',
  (count, length, word) => {
    let state = 1
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return (state >>> 16) % below
    }
    // Letters in no order, so that they compress no better than words do.
    const long = (characters: number, of = word || 'A sentence. ') =>
      Array.from({ length: characters }, () => of[random(of.length)]).join('')
    for (const { shows } of samples(now))
      for (const language of pageLanguages) {
        if (!('page' in shows)) continue
        const { page } = shows
        const { piece } = page
        const told: TapPage = {
          ...page,
          actions: page.actions.map((action) => ({ ...action, description: long(2000) })),
          piece: {
            ...piece,
            token: piece.token && { ...piece.token, dataPath: '/metadata/1/0x1/7' },
            description: long(5000),
            attributes: Array.from({ length: count }, () => ({ name: long(12), value: long(length) })),
            sections: sectionNames.map((is) => ({ is, text: long(1500), rows: [] })),
            gallery: Array.from({ length: 24 }, (_, at) => ({
              url: `https://media.example/${at}-${long(90, 'picture')}.webp`,
              mimeType: undefined,
            })),
          },
          story: Array.from({ length: 20 }, () => ({
            day: '2026-05-01',
            is: 'note',
            text: long(500),
            count: 1,
          })),
        }
        const { body } = tapPage(told, { ...settings, language })
        expect(Buffer.byteLength(body)).toBeLessThan(30_000)
        expect(gzipSync(body).length).toBeLessThan(12_000)
        expect(body).not.toContain('\ufffd')
        const strings = stringsOf({ language })
        expect(body).toContain(html`${strings.more}`.text)
        expect(body.includes('href="/nfc/metadata/1/0x1/7"')).toBe(piece.token !== undefined)
        // Something of everything is there, unless the actions leave next to no room.
        if (count > 0 && word.length > 1 && page.actions.length < 3)
          expect(body).toContain('<dl class="grid"><div>')
        expect(body.match(/id="(care|material|repair)-title"/g)?.length).toBeGreaterThan(0)
      }
  },
)
