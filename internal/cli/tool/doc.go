// Package tool is one run of the program as its commands see it: streams, environment,
// the server, and whether the answers are JSON.
//
// A command opens a client by [Tool.WithClient], answers by [Tool.TellDone],
// [Tool.SayJSON] or [Tool.Absent], asks by [Tool.Ask], reads standard input by
// [Tool.EachBatch], shows how far it is by a [Progress], and watches a server for long by [Tool.Present].
package tool
