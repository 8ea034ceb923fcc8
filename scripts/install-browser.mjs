// Sees to it that the tests that open pages in a real browser can run.
import { installPackage } from './install-package.mjs'
import { hasBrowser } from './test-tools.mjs'

installPackage('chromium', {
  whatFor: 'The tests that open pages in a browser',
  chosen: ['TAPCHIP_TEST_BROWSER', process.env.TAPCHIP_TEST_BROWSER],
  works: hasBrowser,
})
