// Package manual writes manual pages of a tree of commands.
package manual
