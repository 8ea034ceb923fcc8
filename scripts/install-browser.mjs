// Sees to it that the tests that open pages in a real browser can run.
import { existsSync } from 'node:fs'
import { installPackage, succeeds } from './install-package.mjs'

/** Where tests/support/browser.ts looks. */
const chosen = process.env.TAPCHIP_TEST_BROWSER
const places = chosen
  ? [chosen]
  : ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

installPackage('chromium', {
  whatFor: 'The tests that open pages in a browser',
  chosen: ['TAPCHIP_TEST_BROWSER', chosen],
  /** Ubuntu's is a script that asks for a snap, so that it is there says nothing. */
  works: () => {
    const first = places.find((path) => existsSync(path))
    return first !== undefined && succeeds(first, '--version')
  },
})
