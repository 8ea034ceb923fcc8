import { expect, test } from 'vitest'
import type { TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import type { PageSettings } from '../../src/daemon/pages/tap/settings.ts'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { tapPage } from '../../src/daemon/pages/tap/tap-page.ts'
import { dateAndTime } from '../../src/daemon/pages/tap/times.ts'
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
const pageOf = (state: string): TapPage => {
  const found = samples(now).find((sample) => sample.state === state)
  if (!found || !('page' in found.shows)) throw new Error(`no sample ${state}`)
  return found.shows.page
}

test.each(pageLanguages.map((language) => [language]))(
  'in %s, a fresh registration says that the wait begins anew, and one of the same wallet that it goes on',
  (language) => {
    const { anew, kept } = stringsOf({ language }).registered
    const page = pageOf('two-taps-waiting')
    const said = (registeredAt: string) => {
      const actions = page.actions.map((action) =>
        action.state.is === 'registered' ? { ...action, state: { ...action.state, registeredAt } } : action,
      )
      return tapPage({ ...page, actions }, { ...settings, language }).body
    }
    const goesOn = kept({ date: dateAndTime('2026-05-04T09:00:00Z', { language }) }).text
    expect(said('2026-05-04T10:00:00Z')).toContain(anew)
    expect(said('2026-05-04T10:00:00Z')).not.toContain(goesOn)
    expect(said('2026-05-04T09:00:00Z')).toContain(goesOn)
    expect(said('2026-05-04T09:00:00Z')).not.toContain(anew)
  },
)

test('a claim is framed once nothing is open beside it', () => {
  const { actions } = pageOf('everything')
  const { state } = pageOf('claim-confirmed').actions[0] ?? {}
  const framed = (open: number, collected: TapPage['collected']) => {
    const shown = actions.slice(0, 1 + open).map((action) => {
      return action.kind === 'claim' && state ? { ...action, state } : action
    })
    return tapPage({ ...pageOf('everything'), actions: shown, collected }, settings).body.includes(
      'moment kept',
    )
  }
  // On a page that stays open, and on one that is loaded then.
  expect([framed(2, {}), framed(1, {}), framed(0, {})]).toEqual([false, false, true])
  expect([framed(2, undefined), framed(1, undefined)]).toEqual([false, true])
})
