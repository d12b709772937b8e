@tool
extends EditorPlugin
## What Tether is compared with: a plugin that listens itself and looks at its WebSockets each frame.

var _server: TCPServer = TCPServer.new()
var _peers: Array[WebSocketPeer] = []


func _enter_tree() -> void:
	if _server.listen(int(OS.get_environment("PEER_PORT")), "127.0.0.1") != OK:
		push_error("peer: the port is taken")


func _exit_tree() -> void:
	_server.stop()


func _process(_delta: float) -> void:
	while _server.is_connection_available():
		var peer: WebSocketPeer = WebSocketPeer.new()
		if peer.accept_stream(_server.take_connection()) == OK:
			_peers.append(peer)
	for peer: WebSocketPeer in _peers:
		peer.poll()
		while peer.get_available_packet_count() > 0:
			_answer(peer, peer.get_packet().get_string_from_utf8())


func _answer(peer: WebSocketPeer, text: String) -> void:
	var request: Dictionary = JSON.parse_string(text)
	peer.send_text(JSON.stringify({"jsonrpc": "2.0", "id": request["id"],
			"result": {"content": [{"type": "text", "text": "pong"}]}}))
