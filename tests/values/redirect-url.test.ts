import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkRedirectUrl, withRef } from '../../src/values/redirect-url.ts'

const ref = 'V1StGXR8_Z5jdHi6B-myT'

describe('a ref goes into a redirect URL', () => {
  test.each([
    ['https://a.example', `https://a.example?svcRef=${ref}`],
    ['https://a.example/', `https://a.example/?svcRef=${ref}`],
    ['https://a.example/tap?x=1', `https://a.example/tap?x=1&svcRef=${ref}`],
    ['https://a.example/tap?', `https://a.example/tap?svcRef=${ref}`],
    ['https://a.example/tap?x=1&', `https://a.example/tap?x=1&svcRef=${ref}`],
    ['https://a.example/tap#top', `https://a.example/tap?svcRef=${ref}#top`],
    ['https://a.example/tap?x=1#a?b=2', `https://a.example/tap?x=1&svcRef=${ref}#a?b=2`],
    ['https://a.example/?q=a%20b+c&&z', `https://a.example/?q=a%20b+c&&z&svcRef=${ref}`],
    ['myapp://open/tap', `myapp://open/tap?svcRef=${ref}`],
    ['https://a.example/?svcRef=old&x=1', `https://a.example/?x=1&svcRef=${ref}`],
    ['https://a.example/?x=1&svcRef=old', `https://a.example/?x=1&svcRef=${ref}`],
    ['https://a.example/?mysvcRef=1', `https://a.example/?mysvcRef=1&svcRef=${ref}`],
  ])('%s', (url, expected) => {
    expect(withRef(url, 'svcRef', ref)).toBe(expected)
  })

  test('inside the decoded cb_url of a wallet deeplink, and nowhere else', () => {
    const inner = 'https://shop.example/tap?order=7&note=a%20b#top'
    const url = `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(inner)}&utm=x`
    const after = new URL(withRef(url, 'svcRef', ref))
    expect(after.searchParams.get('cb_url')).toBe(
      `https://shop.example/tap?order=7&note=a%20b&svcRef=${ref}#top`,
    )
    expect(after.searchParams.get('svcRef')).toBeNull()
    expect(after.searchParams.get('utm')).toBe('x')
  })

  test('in place of an older one inside cb_url', () => {
    const url = `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent('https://s.example/?svcRef=old&a=1')}`
    expect(new URL(withRef(url, 'svcRef', ref)).searchParams.get('cb_url')).toBe(
      `https://s.example/?a=1&svcRef=${ref}`,
    )
  })

  test('under the name that the wire uses', () => {
    expect(withRef('https://a.example/', 'acmeRef', ref)).toBe(`https://a.example/?acmeRef=${ref}`)
  })

  test('whatever the URL is, all of its bytes stay and the ref stands before the fragment', () => {
    const parts = fc.record({
      path: fc.webPath(),
      query: fc.option(fc.webQueryParameters(), { nil: undefined }),
      fragment: fc.option(fc.webFragments(), { nil: undefined }),
    })
    fc.assert(
      fc.property(parts, ({ path, query, fragment }) => {
        const url = `https://a.example${path}${query === undefined ? '' : `?${query}`}${fragment === undefined ? '' : `#${fragment}`}`
        fc.pre(!/(^|[?&])(svcRef|cb_url)(=|&|$)/.test(query ?? ''))
        const after = withRef(url, 'svcRef', ref)
        const [head = ''] = url.split('#', 1)
        const tail = url.slice(head.length)
        const between = ['?', '&', ''].map((glue) => `${head}${glue}svcRef=${ref}${tail}`)
        expect(between).toContain(after)
        expect(new URL(after).searchParams.get('svcRef')).toBe(ref)
      }),
    )
  })
})

describe('a redirect URL is taken', () => {
  test.each([
    'https://a.example',
    'http://localhost:3000/tap?x=%20',
    'myapp://open',
    'intent:open',
    'https://go.cb-w.com/dapp?cb_url=https%3A%2F%2Fs.example%2F%3Fa%3D1',
  ])('%s', (url) => {
    expect(checkRedirectUrl(url)).toBeUndefined()
  })
})

describe('a redirect URL is refused', () => {
  test.each([
    ['javascript:alert(1)', 'scheme'],
    ['JavaScript:alert(1)', 'scheme'],
    ['java\tscript:alert(1)', 'control'],
    [' https://a.example', 'spaces'],
    ['data:text/html,x', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['blob:https://a.example/1', 'scheme'],
    ['vbscript:x', 'scheme'],
    ['https://user:secret@a.example/', 'credentials'],
    ['https://user@a.example/', 'credentials'],
    ['https:\\\\user@a.example', 'credentials'],
    ['myapp://user:pw@host/', 'credentials'],
    ['https:a.example', 'host'],
    ['https://', 'host'],
    ['//a.example', 'scheme'],
    ['a.example/tap', 'scheme'],
    ['https://a.example/\u0000', 'control'],
    ['https://a.example/ü', 'ASCII'],
    ['https://go.cb-w.com/dapp?cb_url=javascript%3Aalert(1)', 'cb_url'],
    ['https://go.cb-w.com/dapp?cb_url=', 'cb_url'],
    ['https://go.cb-w.com/dapp?cb_url=%ZZ', 'cb_url'],
    ['https://go.cb-w.com/dapp?cb%5Furl=javascript%3Aalert(1)', 'cb_url'],
    ['https://go.cb-w.com/dapp?cb_url=https%3A%2F%2Fu%3Ap%40s.example', 'cb_url'],
  ])('%s', (url, reason) => {
    expect(checkRedirectUrl(url)).toContain(reason)
  })
})
