-- Greets whoever is named on the command line.
local folder = vim.fs.dirname(arg[0])
package.path = folder .. "/?.lua;" .. package.path

print(require("greeting").greet(arg[1] or "you"))
