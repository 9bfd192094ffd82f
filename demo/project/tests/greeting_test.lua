-- Run with `nvim -l tests/greeting_test.lua`.
local folder = vim.fs.dirname(vim.fs.dirname(arg[0]))
package.path = folder .. "/src/?.lua;" .. package.path
local greeting = require("greeting")

-- By name
assert(greeting.greet("Ada") == "Hello, Ada!")

-- In other words
greeting.word = "Good evening"
assert(greeting.greet("Grace") == "Good evening, Grace!")

print("ok")
