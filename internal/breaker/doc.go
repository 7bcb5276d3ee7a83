// Package breaker keeps requests from waiting for a server that does not answer, and
// lets one slow reply concern its own request only.
package breaker
