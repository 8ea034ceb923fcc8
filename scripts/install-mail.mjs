// Sees to it that the tests with a mail server can run.
import { installPackage } from './install-package.mjs'
import { hasMailServer } from './test-tools.mjs'

installPackage('exim4-daemon-light', {
  whatFor: 'The tests with a mail server',
  chosen: ['TAPCHIP_TEST_EXIM', process.env.TAPCHIP_TEST_EXIM],
  works: hasMailServer,
})
