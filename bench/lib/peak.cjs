// Loaded before a command: it tells the most memory that the command took, in kilobytes, as its last words.
process.on('exit', () => require('node:fs').writeSync(2, `peak ${process.resourceUsage().maxRSS}\n`))
