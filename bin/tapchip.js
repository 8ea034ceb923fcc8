#!/usr/bin/env node
import '../dist/tapchip.cjs'
