// Package topics has the commands of topics and streams: topic and stream.
package topics
