#!/usr/bin/env node
const { launch, showHelp } = require('../dist/launch.cjs')
if (!showHelp(process.argv.slice(2))) launch('tapchip', require)
