// Package jobs has the commands of reliable queues, below job.
package jobs
