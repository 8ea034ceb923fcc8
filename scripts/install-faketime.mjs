// Sees to it that the tests with a clock that jumps can run.
import { installPackage } from './install-package.mjs'
import { hasFakeTime } from './test-tools.mjs'

installPackage('libfaketime', {
  whatFor: 'The tests with a clock that jumps',
  chosen: ['TAPCHIP_TEST_FAKETIME', process.env.TAPCHIP_TEST_FAKETIME],
  works: hasFakeTime,
})
