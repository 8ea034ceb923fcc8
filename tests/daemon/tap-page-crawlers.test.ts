import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isCrawler } from '../../src/daemon/http/crawlers.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

/** As their makers publish them, or as servers log them. */
const crawlers = {
  Facebook: 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'Facebook, cut': 'facebookexternalhit/1.1',
  Meta: 'meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)',
  WhatsApp: 'WhatsApp/2.23.20.0',
  'WhatsApp on Android': 'WhatsApp/2.24.6.77 A',
  Signal: 'WhatsApp/2',
  Slack: 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  'Slack, pictures': 'Slack-ImgProxy (+https://api.slack.com/robots)',
  'Slack, others': 'Slackbot 1.0 (+https://api.slack.com/robots)',
  X: 'Twitterbot/1.0',
  Telegram: 'TelegramBot (like TwitterBot)',
  LinkedIn: 'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
  Discord: 'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
  iMessage:
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
  Apple:
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)',
  Teams: 'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com',
  Google: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  Bing: 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
  Mastodon: 'Mastodon/4.3.0 (http.rb/5.2.0; +https://mastodon.social/)',
  'Mastodon, older': 'http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.social/) Bot',
  Bluesky: 'Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)',
  Pinterest: 'Pinterest/0.2 (+https://www.pinterest.com/bot.html)',
  LINE: 'facebookexternalhit/1.1;line-poker/1.0',
  KakaoTalk: 'facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984',
}

/** Browsers, and apps that open links in a browser of their own: people. */
const people = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Linux; Android 8.1.0; CUBOT_X18_Plus) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.45 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21E219 [FBAN/FBIOS;FBAV/458.0.0.32.110;FBBV/585319471]',
  'Mozilla/5.0 (Linux; Android 13; SM-G991B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0 Mobile Safari/537.36 Instagram 316.0.0.38.109 Android',
  'Mozilla/5.0 (Linux; Android 12; M2102J20SG) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/121.0 Mobile Safari/537.36 Telegram-Android/10.8.1 (Xiaomi)',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.29.3',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Twitter for iPhone/10.30',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Slack/4.36.140 Chrome/120.0 Electron/28.2 Safari/537.36',
]

test.each(people)('a person is no crawler: %s', (agent) => {
  expect(isCrawler({ headers: { 'user-agent': agent } })).toBe(false)
})

describe('a link crawler', () => {
  let daemon: TestDaemon
  let counter = 0
  beforeAll(async () => {
    const [acme, other] = structuredClone(seed.teams)
    const acmeTeam = {
      ...acme,
      brand: { name: 'Acme Outdoor', color: '#7a1f3d', logoUrl: 'https://img.acme.example/logo.png' },
    }
    daemon = await startTestDaemon({ seed: { ...seed, teams: [acmeTeam, other] } })
  })
  afterAll(() => daemon.stop())

  const next = (uid: string) => tap(derived, { uid }, ++counter)
  const get = async (
    parameters: Record<string, string>,
    agent?: string,
    headers: Record<string, string> = {},
  ) => {
    const answer = await fetch(daemon.url + tapPath(parameters), {
      redirect: 'manual',
      headers: { accept: 'text/html,*/*;q=0.8', ...(agent ? { 'user-agent': agent } : {}), ...headers },
    })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }
  const recorded = async () => {
    const { db } = daemon.ctx
    const count = db.read.selectFrom('taps').select((of) => of.fn.countAll<number>().as('n'))
    return Number((await count.executeTakeFirstOrThrow()).n)
  }

  test.each(Object.entries(crawlers))('takes no tap: %s', async (_name, agent) => {
    const parameters = next(uids.unminted)
    const before = await recorded()
    for (const _load of ['first', 'again']) {
      const { status, headers, body } = await get(parameters, agent)
      expect(status).toBe(200)
      expect(body).toContain('<meta property="og:title" content="Jacket">')
      expect(body).toContain('<meta property="og:image" content="https://img.acme.example/jacket.png">')
      expect(body).toContain('<meta property="og:description" content="A shell jacket">')
      expect(body).not.toMatch(/svcRef|data-ref|<form|<script/)
      expect(headers.get('set-cookie')).toBeNull()
    }
    expect(await recorded()).toEqual(before)
    const person = await get(parameters)
    expect(person.status).toBe(200)
    expect(person.body).toContain('data-ref="')
  })

  test('gets the piece of a redirecting chip, and leaves the tap to the person', async () => {
    const parameters = next(uids.jacket)
    const { status, headers, body } = await get(parameters, crawlers.WhatsApp)
    expect({ status, location: headers.get('location') }).toEqual({ status: 200, location: null })
    expect(body).toContain('<meta property="og:title" content="Jacket #1">')
    expect(body).not.toContain('svcRef')
    const person = await get(parameters)
    expect(person.status).toBe(302)
    expect(person.headers.get('location')).toContain('svcRef=')
    // A used link has the same preview.
    expect((await get(parameters, crawlers.WhatsApp)).body).toContain('content="Jacket #1"')
  })

  test('is led to the public page of the piece, as whoever opens a used link is', async () => {
    const set = (publicPages: 0 | 1) =>
      daemon.ctx.db.write((trx) =>
        trx.updateTable('teams').set({ publicPages }).where('name', '=', 'Acme').execute(),
      )
    const parameters = next(uids.unminted)
    expect((await get(parameters, crawlers.X)).body).not.toMatch(/og:url|\/p\//)
    await set(1)
    const { body } = await get(parameters, crawlers.X)
    const [, url = ''] = /<meta property="og:url" content="([^"]+)">/.exec(body) ?? []
    expect(url).toMatch(/\/p\/[\w-]{21}$/)
    const { pathname } = new URL(url)
    const page = await fetch(daemon.url + pathname)
    expect([page.status, (await page.text()).includes('Jacket')]).toEqual([200, true])
    await get(parameters)
    expect((await get(parameters)).body).toContain(`href="${pathname}"`)
    await set(0)
    expect((await get(parameters)).body).not.toContain('/p/')
  })

  test('learns nothing of a link that no chip made, or of a chip that was switched off', async () => {
    const good = next(uids.unminted)
    const plain = await get({ ...good, c: 'AB'.repeat(8) }, crawlers.Slack)
    expect(plain.status).toBe(404)
    expect(plain.body).not.toMatch(/og:|Acme|acme|Jacket/)
    const nonce = /nonce-?[="']+[^"']+/g
    for (const parameters of [tap(derived, { uid: '04AAAAAAAAAA80' }, 1), { e: good.e }, {}])
      expect((await get(parameters as Record<string, string>, crawlers.Slack)).body.replace(nonce, '')).toBe(
        plain.body.replace(nonce, ''),
      )
    expect((await get(good)).status).toBe(200)
  })

  test('a prefetch or a HEAD of one uses nothing up either, and its cookie is not asked for', async () => {
    const parameters = next(uids.unminted)
    expect((await get(parameters, crawlers.Apple, { purpose: 'prefetch' })).status).toBe(503)
    const head = await fetch(daemon.url + tapPath(parameters), {
      method: 'HEAD',
      headers: { 'user-agent': crawlers.Apple },
    })
    expect(head.status).toBe(200)
    const person = await get(parameters)
    const cookie = String(person.headers.get('set-cookie')).split(';')[0] ?? ''
    expect((await get(parameters, crawlers.Apple, { cookie })).body).not.toMatch(/data-ref/)
    expect((await get(parameters, undefined, { cookie })).body).toMatch(/data-ref/)
  })
})
