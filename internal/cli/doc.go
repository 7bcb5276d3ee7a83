// Package cli is the command line of rueidisson: the tree of its commands.
//
// Each kind of object has a package of its commands: locks, limits, synchronizers,
// maps, queues, jobs and topics. They import no sibling. Package inspect knows all
// kinds, and package run what runs a CMD. Below are, from the top: scan, tool, server,
// usage, values and exit.
package cli
