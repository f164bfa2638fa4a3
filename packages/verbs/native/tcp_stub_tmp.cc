#include "tcp_transport.h"
namespace rdmc { class TcpNic{}; TcpTransport::TcpTransport(SoftDevice&){} TcpTransport::~TcpTransport(){} void TcpTransport::stop(){} uint16_t TcpTransport::port() const {return 0;}
void TcpTransport::connect(std::shared_ptr<QueuePair>, const QueuePairAddress&, const ConnectParameters&, ConnectCallback d){ (void)d;} void TcpTransport::release(const std::shared_ptr<QueuePair>&){} void TcpTransport::quiesceRegion(uint32_t){} }
