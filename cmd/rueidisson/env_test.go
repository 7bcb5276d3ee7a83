package main

import "github.com/rueidisson/rueidisson/internal/cli/server"

// Environment variables that say how the server is reached. In tests the word server is for one that they start.
const (
	envRedis        = server.EnvRedis
	envPassword     = server.EnvPassword
	envPasswordFile = server.EnvPasswordFile
	envCACert       = server.EnvCACert
	envCert         = server.EnvCert
	envKey          = server.EnvKey
	envInsecure     = server.EnvInsecure
)
