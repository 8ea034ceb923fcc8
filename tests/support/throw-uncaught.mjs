// Loaded before the daemon by `node --import`: throws where nobody catches, as a bug would.

const fail = () => {
  throw new Error('an error of the test')
}

// In the middle of anything.
process.on('SIGUSR2', fail)
// Again and again, for as long as the process lives.
process.on('SIGWINCH', () => {
  setInterval(fail, 5)
  setInterval(() => Promise.reject(new Error('a rejection of the test')), 5)
  throw undefined
})
// While it starts.
if (process.env.THROW_AT_START)
  process.on('newListener', (name) => {
    if (name === 'uncaughtException') setImmediate(fail)
  })
